import { randomUUID } from "node:crypto";
import { coalesce } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { answerOf, dedupe, type Operation, run, runTogether } from "./scripts.ts";

/** Runs operations: those that come while others are under way go together, in one command. */
export interface Together {
  /** Finds out whether keys can go together. Until then, and if they cannot, each operation is a command of its own. */
  prepare(): Promise<void>;
  send(operation: Operation): Promise<unknown>;
}

/** @param keyPrefix of the keys that `prepare` writes and removes */
export function createTogether(client: RedisClient, keyPrefix: string): Together {
  let areTogether = false;
  const sendTogether = coalesce((operations: readonly Operation[]) => sendAll(client, operations), {
    maxItems: 200,
    maxFlushes: 1,
  });
  return {
    async prepare() {
      areTogether = client.nodes === undefined && (await onOneServer(client, keyPrefix));
    },
    async send(operation) {
      return areTogether && operation.script === dedupe
        ? answerOf(await sendTogether(operation))
        : run(client, operation);
    },
  };
}

/** Null: not sent. */
async function sendAll(client: RedisClient, operations: readonly Operation[]): Promise<readonly unknown[]> {
  const wanted = operations.filter(({ signal }) => !signal?.aborted);
  if (wanted.length === 0) return operations.map(() => null);
  const answers = await runTogether(client, dedupe, wanted);
  if (wanted.length === operations.length) return answers;
  const answerTo = new Map(wanted.map((operation, index) => [operation, answers[index]]));
  return operations.map((operation) => answerTo.get(operation) ?? null);
}

/** So many that on two servers they would not all be on the same one. */
const probeKeys = 32;
const probeMs = 10_000;

/**
 * Whether keys that one command writes are found one by one. A proxy in front of several servers may refuse such a command, or
 * send it to the server of its first key: an id could then be claimed on two servers.
 */
async function onOneServer(client: RedisClient, keyPrefix: string): Promise<boolean> {
  const token = `${randomUUID()}:`;
  const keys = Array.from({ length: probeKeys }, (_, index) => `${keyPrefix}probe:${token}${index}`);
  const claims = keys.map((key) => ({ script: dedupe, key, args: ["claim", token, probeMs] }));
  try {
    await runTogether(client, dedupe, claims);
  } catch (error) {
    if (error instanceof Error && error.name === "ReplyError") return false; // such as CROSSSLOT
    throw error;
  }
  const releases = keys.map((key) => run(client, { script: dedupe, key, args: ["release", token, 0] }));
  return (await Promise.all(releases)).every((released) => Number(released) === 1);
}
