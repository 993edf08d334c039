import { randomUUID } from "node:crypto";
import { coalesce } from "@esim-webhooks/core/engine";
import type { RedisClient } from "./client.ts";
import { dedupe, isOne, type Operation, runTogether, type Script } from "./scripts.ts";

/** How many keys a command has at most, so that it occupies the server for only a moment. */
const maxKeys = 200;
/** How many commands may be unanswered: enough that the server has the next one while this process works, and few for one that has stalled. */
const maxUnanswered = 8;

/** Operations that wait to be sent, and share one time limit. */
interface Group {
  readonly operations: readonly Operation[];
  readonly signal: AbortSignal;
  resolve(answers: readonly unknown[]): void;
  reject(error: unknown): void;
}

/** Runs operations, at most `maxKeys`. They are not sent once `signal` has aborted, and may then never be answered. */
export type RunGroup = (operations: readonly Operation[], signal: AbortSignal) => Promise<readonly unknown[]>;

/**
 * Sends each group immediately, unless eight commands have no answer yet: groups that have to wait go together in the next commands. A
 * server that has stalled then gets little to catch up with, since operations whose callers no longer wait are not sent.
 */
export function createCommands(client: RedisClient, script: Script): RunGroup {
  const waiting = new Set<Group>();
  let unanswered = 0;

  async function run(operations: readonly Operation[], isWanted: () => boolean): Promise<readonly unknown[]> {
    unanswered += 1;
    try {
      return await runTogether(client, script, operations, isWanted);
    } finally {
      unanswered -= 1;
      sendWaiting();
    }
  }

  function sendWaiting(): void {
    while (waiting.size > 0 && unanswered < maxUnanswered) void runGroups(takeGroups());
  }

  function takeGroups(): readonly Group[] {
    const taken: Group[] = [];
    let keys = 0;
    for (const group of waiting) {
      keys += group.operations.length;
      if (keys > maxKeys) break;
      waiting.delete(group);
      taken.push(group);
    }
    return taken;
  }

  async function runGroups(groups: readonly Group[]): Promise<void> {
    const operations = groups.flatMap((group) => group.operations);
    const isWanted = () => groups.some(({ signal }) => !signal.aborted);
    try {
      const answers = await run(operations, isWanted);
      let at = 0;
      for (const { operations, resolve } of groups) {
        resolve(answers.slice(at, at + operations.length));
        at += operations.length;
      }
    } catch (error) {
      for (const { reject } of groups) reject(error);
    }
  }

  return (operations, signal) => {
    if (unanswered < maxUnanswered) return run(operations, () => !signal.aborted);
    return new Promise((resolve, reject) => {
      const group: Group = { operations, signal, resolve, reject };
      waiting.add(group);
      signal.addEventListener("abort", () => waiting.delete(group));
    });
  };
}

/** Gathers the operations of one event-loop tick. No batch waits for the answers to the one before it. */
export function gatherOperations<Given extends Operation>(
  run: (operations: readonly Given[]) => Promise<readonly unknown[]>,
): (operation: Given) => Promise<unknown> {
  return coalesce(run, { maxItems: maxKeys, maxFlushes: Number.POSITIVE_INFINITY });
}

/** How many keys the probe writes: too many for one of two servers to have them all by chance. */
const probeKeys = 32;
const probeMs = 10_000;

/**
 * Whether a command may have several keys: writes keys with one command, and checks that commands with one key each find them. A proxy in
 * front of several servers may refuse the first command, or send it to the server of its first key: an id could be claimed on two servers.
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
