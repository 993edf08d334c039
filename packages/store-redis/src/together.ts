import { randomUUID } from "node:crypto";
import { coalesce } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { maxKeys } from "./commands.ts";
import { dedupe, isOne, type Operation, runTogether } from "./scripts.ts";

/** Gathers the operations of one turn of the event loop. No turn waits for the answers to the one before it. */
export function createTogether<Given extends Operation>(
  run: (operations: readonly Given[]) => Promise<readonly unknown[]>,
): (operation: Given) => Promise<unknown> {
  return coalesce(run, { maxItems: maxKeys, maxFlushes: Number.POSITIVE_INFINITY });
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
  const on = (key: string, letter: string) => ({ letter, key, args: [token, probeMs] });
  const claims = keys.map((key) => on(key, dedupe.letters.claim));
  try {
    await runTogether(client, dedupe, claims);
  } catch (error) {
    if (error instanceof Error && error.name === "ReplyError") return false; // such as CROSSSLOT
    throw error;
  }
  const releases = keys.map((key) => runTogether(client, dedupe, [on(key, dedupe.letters.release)]));
  return (await Promise.all(releases)).every(([released]) => isOne(released));
}
