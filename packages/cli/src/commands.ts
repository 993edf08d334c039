import type { Command, RouteMap } from "@stricli/core";
import type { CliContext } from "./program/context.ts";

/** A command, as far as the list of all of them shows it. */
export interface Listed {
  readonly brief: string;
  /** What must follow its name. */
  readonly usage?: string;
  /** Its flags and its help; what it does is loaded once it runs. */
  load(): Promise<Command<CliContext> | RouteMap<CliContext>>;
}

/** The commands by name: of all but the one that is called, no more than this is loaded. */
export const commands: Readonly<Record<string, Listed>> = {
  serve: {
    brief: "Receive webhooks",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  work: {
    brief: "Work the events of an inbox",
    load: async () => (await import("./commands/work.ts")).work,
  },
  send: {
    brief: "Send a signed delivery",
    usage: "<type>",
    load: async () => (await import("./commands/send.ts")).send,
  },
  verify: {
    brief: "Say whether a captured request is authentic, and why not",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  import: {
    brief: "Replay a dump of deliveries",
    usage: "<dump>",
    load: async () => (await import("./commands/import.ts")).importCommand,
  },
  inbox: {
    brief: "Look at the inbox, and put right what is in it",
    usage: "stats|list|show|retry|discard|purge ...",
    load: async () => (await import("./commands/inbox.ts")).inbox,
  },
  doctor: {
    brief: "Look whether everything is set up as it must be",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  completion: {
    brief: "Complete commands in the shell",
    usage: "install|uninstall ...",
    load: async () => (await import("./commands/completion.ts")).completion,
  },
};
