import type { Command, RouteMap } from "@stricli/core";
import type { CliContext } from "./program/context.ts";

/** A command as the list of commands shows it. */
export interface CommandEntry {
  readonly brief: string;
  /** The arguments after its name, for the usage line. */
  readonly usage?: string;
  /** Loads its flags and its help. Its implementation is loaded when it runs. */
  load(): Promise<Command<CliContext> | RouteMap<CliContext>>;
}

/** The commands by name. Only the command that is called is loaded; for completion, all are. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    brief: "Receive webhooks",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  work: {
    brief: "Process the events of an inbox",
    load: async () => (await import("./commands/work.ts")).work,
  },
  send: {
    brief: "Send a signed delivery",
    usage: "<type>",
    load: async () => (await import("./commands/send.ts")).send,
  },
  verify: {
    brief: "Check whether a captured request is authentic",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  import: {
    brief: "Replay a dump of deliveries",
    usage: "<dump>",
    load: async () => (await import("./commands/import.ts")).importCommand,
  },
  rehearse: {
    brief: "Check a config with past events",
    load: async () => (await import("./commands/rehearse.ts")).rehearse,
  },
  reconcile: {
    brief: "Recover the events that were missed",
    load: async () => (await import("./commands/reconcile.ts")).reconcile,
  },
  "replay-request": {
    brief: "List the events that only support can send again",
    load: async () => (await import("./commands/replay-request.ts")).replayRequest,
  },
  inbox: {
    brief: "Inspect and repair the inbox",
    usage: "<command>",
    load: async () => (await import("./commands/inbox.ts")).inbox,
  },
  dashboard: {
    brief: "Show the inbox in the browser",
    load: async () => (await import("./commands/dashboard.ts")).dashboard,
  },
  api: {
    brief: "Call the partner API",
    usage: "<command>",
    load: async () => (await import("./commands/api.ts")).api,
  },
  endpoint: {
    brief: "Set up an endpoint",
    usage: "<command>",
    load: async () => (await import("./commands/endpoint.ts")).endpoint,
  },
  events: {
    brief: "List the event types, and how events differ",
    usage: "<command>",
    load: async () => (await import("./commands/events.ts")).events,
  },
  listen: {
    brief: "Post real events to this machine",
    load: async () => (await import("./commands/listen.ts")).listen,
  },
  rotate: {
    brief: "Replace an endpoint's signing secret",
    load: async () => (await import("./commands/rotate.ts")).rotate,
  },
  sandbox: {
    brief: "Run the partner service on this machine",
    load: async () => (await import("./commands/sandbox.ts")).sandbox,
  },
  migrate: {
    brief: "Create or update the tables",
    load: async () => (await import("./commands/migrate.ts")).migrate,
  },
  doctor: {
    brief: "Check the set-up",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  bench: {
    brief: "Measure your database",
    load: async () => (await import("./commands/bench.ts")).bench,
  },
  completion: {
    brief: "Complete commands in the shell",
    usage: "<command>",
    load: async () => (await import("./commands/completion.ts")).completion,
  },
};
