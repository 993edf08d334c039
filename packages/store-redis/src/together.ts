import { randomUUID } from "node:crypto";
import { coalesce } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { dedupe, type Operation, type Operations, runTogether } from "./scripts.ts";

/**
 * Gathers the operations of one turn of the event loop in one command, at most 200 of them. No command waits for the one before it: the
 * server would rest while this process works, and this process while the server works.
 */
export function createTogether(
  send: (operations: Operations) => Promise<readonly unknown[]>,
): (operation: Operation) => Promise<unknown> {
  const flush = (operations: readonly Operation[]) => send(operations as unknown as Operations);
  return coalesce(flush, { maxItems: 200, maxFlushes: Number.POSITIVE_INFINITY });
}

/** So many that on two servers they would not all be on the same one. */
const probeKeys = 32;
const probeMs = 10_000;

/**
 * Whether keys can go together: whether keys that one command writes are found one by one. A proxy in front of several servers may refuse
 * such a command, or send it to the server of its first key: an id could then be claimed on two servers.
 */
export async function areOnOneServer(client: RedisClient, keyPrefix: string): Promise<boolean> {
  if (client.nodes !== undefined) return false;
  const token = `${randomUUID()}:`;
  const keys = Array.from({ length: probeKeys }, (_, index) => `${keyPrefix}probe:${token}${index}`);
  const on = (key: string, letter: string) => ({ script: dedupe, letter, key, args: [token, probeMs] });
  const claims = keys.map((key) => on(key, dedupe.letters.claim));
  try {
    await runTogether(client, claims as unknown as Operations);
  } catch (error) {
    if (error instanceof Error && error.name === "ReplyError") return false; // such as CROSSSLOT
    throw error;
  }
  const releases = keys.map((key) => runTogether(client, [on(key, dedupe.letters.release)]));
  return (await Promise.all(releases)).every(([released]) => Number(released) === 1);
}
