import { inboxSuite } from "@esim-webhooks/conformance";
import type { Inbox, InboxCapabilities, InboxRole, InboxRoleName } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { describe, it } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";

expectWarnings("event_dead", "listener_failed", "short_retention");

const capabilities: Omit<InboxCapabilities, "roles"> = {
  retentionMs: 30 * 86_400_000,
  durable: false,
  multiProcess: false,
  transactional: false,
  ordered: true,
};
const everyRole = ["writer", "queue", "admin", "rerun"] as const;

inboxSuite(
  "memoryInbox",
  {
    capabilities: { ...capabilities, roles: everyRole },
    open: ({ timeoutMs: _, ...options }) => memoryInbox(options),
  },
  { describe, it },
);

const operations = {
  writer: ["put"],
  queue: ["take", "extend", "settle", "purge", "onHint", "report"],
  admin: [
    "stats",
    "gauges",
    "workers",
    "count",
    "list",
    "get",
    "redrive",
    "giveUp",
    "purgeDead",
    "pause",
    "resume",
    "paused",
    "erase",
    "noteRun",
    "runs",
    "minutes",
  ],
  rerun: ["rerun"],
} as const;

/** An inbox with only some of the roles. */
function partOf(inbox: Inbox, roles: readonly InboxRoleName[]): InboxRole {
  const names = ["ready", "close", ...roles.flatMap((role) => operations[role])] as const;
  return {
    ...(Object.fromEntries(names.map((name) => [name, inbox[name]])) as Pick<Inbox, "ready" | "close">),
    capabilities: { ...inbox.capabilities, roles },
  };
}

// a scenario that calls a role it does not name fails here
for (const roles of [
  ["writer"],
  ["writer", "queue"],
  ["writer", "admin"],
  ["writer", "queue", "rerun"],
] as const) {
  inboxSuite(
    `a ${roles.join(", ")}`,
    {
      capabilities: { ...capabilities, roles },
      open: ({ timeoutMs: _, ...options }) => partOf(memoryInbox(options), roles),
    },
    { describe, it },
  );
}
