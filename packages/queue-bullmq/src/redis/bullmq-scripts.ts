import { WebhookError } from "@esim-webhooks/core";
import type { BullmqQueue, QueueClient } from "./queue.ts";

/** A Lua script, as BullMQ defines it on a client. */
export type BullmqScript = Parameters<QueueClient["defineCommand"]>[1];

/** The part of a queue's backend that defines its scripts. */
interface ScriptLoader {
  readonly connection: {
    readonly packageVersion: string;
    loadCommands?(version: string): void;
  };
}

/** The scripts of BullMQ that our own scripts contain. */
export interface BullmqScripts {
  /** The name under which BullMQ runs a script. */
  nameOf(script: string): string;
  /** Returns a script of BullMQ. Throws `invalid_option` if it lacks one of `texts`, on which our own scripts rely. */
  get(script: string, texts: readonly string[]): BullmqScript;
}

export function bullmqScripts(queue: BullmqQueue): BullmqScripts {
  const { connection } = queue.getBackend() as ScriptLoader;
  const { packageVersion: version } = connection;
  const scripts = new Map<string, BullmqScript>();
  const collector = { defineCommand: (name: string, script: BullmqScript) => scripts.set(name, script) };
  connection.loadCommands?.call({ _client: collector }, version);
  const nameOf = (script: string) => `${script}:${version}`;
  return {
    nameOf,
    get(script, texts) {
      const found = scripts.get(nameOf(script));
      if (found !== undefined && texts.every((text) => found.lua.includes(text))) return found;
      throw new WebhookError(
        "invalid_option",
        `bullmqInbox cannot extend the scripts of BullMQ ${version}: they differ from those that it knows.`,
        "Use BullMQ 6.7, or upgrade @esim-webhooks/queue-bullmq.",
      );
    },
  };
}
