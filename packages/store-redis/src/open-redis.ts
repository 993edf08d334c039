import { type Logger, WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  storeShape,
  withMethods,
} from "@esim-webhooks/core/engine";
import * as z from "zod/mini";
import { openClient, type RedisClient, serverPlace } from "./client.ts";
import { areOnOneServer, createCommands, gatherOperations } from "./commands.ts";
import { explained } from "./errors.ts";
import { createEvictionCheck } from "./eviction.ts";
import { onReplicas } from "./replicas.ts";
import { answersIn, isOne, type Operation, probe, runTogether, type Script } from "./scripts.ts";

/** The options that `redisStore` and `redisState` share. */
export interface RedisOptions {
  /** The prefix of all keys. Default `"esim-webhooks:"`. */
  keyPrefix?: string;
  /** The timeout of an operation, in ms. Default 5,000. */
  timeoutMs?: number;
  /**
   * Accepts a server whose `maxmemory-policy` may evict keys. When memory is short, it then evicts done ids and states, and
   * redeliveries run again: `capabilities.durable` is false. Default false: such a server is refused.
   */
  allowEviction?: boolean;
  /**
   * How many replicas must have a write before its operation succeeds (`WAIT`). Default 0. Waiting blocks the connection, so give
   * the store its own. Not for a `Cluster`.
   */
  waitReplicas?: number;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

export const redisShape: OptionsShape<Required<RedisOptions>> = {
  keyPrefix: z._default(z.string(), "esim-webhooks:"),
  timeoutMs: z._default(durationMs(1), 5000),
  allowEviction: z._default(z.boolean(), false),
  waitReplicas: z._default(z.int().check(z.gte(0)), 0),
  logger: storeShape.logger,
};

const clientShape = z.union([
  z.string().check(z.regex(/^rediss?:\/\//)),
  withMethods<RedisClient>("eval", "evalsha", "config", "pipeline"),
]);

/** An operation of a store. */
export interface StoreOperation extends Operation {
  /** The operation to send if this one fails, or succeeds after its time limit, when its caller no longer waits. */
  readonly undo?: Operation;
}

/** A client with the guard of the store that uses it. Rejects with a `WebhookError`. */
export interface OpenRedis {
  /** The server and the keys, for people. Undefined if the client does not reveal it. */
  readonly place: string | undefined;
  /** Runs every command once, at each call, and checks the eviction policy if that is due. Rejects if the server cannot be used. */
  ready(): Promise<void>;
  /** Runs one operation within the time limit. */
  send(operation: StoreOperation): Promise<unknown>;
  /**
   * Runs an operation that claims an id or writes a state. If a check of the eviction policy is due, makes it first, within the same time
   * limit.
   */
  begin(operation: StoreOperation): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens Redis for a store or a state, whose operations are all in one Lua `script`. `name` is the public function that was called, for messages. Throws `invalid_option`. */
export function openRedis(
  name: string,
  redis: RedisClient | string,
  script: Script,
  { keyPrefix, timeoutMs, logger, allowEviction, waitReplicas }: Required<RedisOptions>,
): OpenRedis {
  if (!clientShape.safeParse(redis).success) {
    throw new WebhookError(
      "invalid_option",
      `${name} was given neither an ioredis client nor a redis:// URL.`,
      'Pass new Redis(…), or a URL such as "redis://localhost:6379".',
    );
  }
  if (waitReplicas > 0 && typeof redis === "object" && redis.nodes !== undefined) {
    throw new WebhookError(
      "invalid_option",
      `${name} cannot use waitReplicas with a Cluster, since every node has its own replicas.`,
      "Remove waitReplicas, or pass a client of a single master, for example behind Sentinel.",
    );
  }
  const { client, reasonOf, close } = openClient(name, redis, timeoutMs, logger);
  const rethrow = (error: unknown): never => {
    throw explained(name, reasonOf(error));
  };
  const eviction = createEvictionCheck(client, allowEviction, logger);
  const runOnReplicas = waitReplicas > 0 && onReplicas(name, client, waitReplicas, timeoutMs);
  const runGroup = createCommands(client, script);
  const sendTogether = gatherOperations(runGuarded);
  const undoTogether = gatherOperations((undos: readonly Operation[]) => runTogether(client, script, undos));
  let areTogether = false; // whether several operations may be one command; false until it is known
  const guard = createStoreGuard({
    name,
    timeoutMs,
    logger,
    async check(signal) {
      await eviction.check().catch(rethrow);
      await tryOut(signal);
      areTogether = !runOnReplicas && (await areOnOneServer(client, keyPrefix).catch(rethrow));
    },
  });

  /** Runs every command once, to find out whether the server accepts them all. */
  async function tryOut(signal: AbortSignal): Promise<void> {
    const letter = probe.letters.probe;
    const probing: Operation = { letter, key: `${keyPrefix}probe`, args: [] };
    const evaluated = client.eval(probe.source, 1, probing.key, letter); // operations need EVAL only while the server does not know their script
    await evaluated.then((answer) => answerOf(answersIn(answer, 1)[0])).catch(rethrow);
    await runAlone(probe, probing, signal).then(answerOf).catch(rethrow);
  }

  async function runAlone(script: Script, operation: Operation, signal: AbortSignal): Promise<unknown> {
    if (runOnReplicas) return runOnReplicas(script, operation, signal);
    const [answer] = await runTogether(client, script, [operation], () => !signal.aborted);
    return answer;
  }

  /** Runs operations that share a time limit. */
  function run(operations: readonly StoreOperation[], signal: AbortSignal): Promise<readonly unknown[]> {
    const sent = areTogether
      ? runGroup(operations, signal)
      : Promise.all(operations.map((operation) => runAlone(script, operation, signal)));
    const isUndone = (answer: unknown) => answer instanceof Error || (signal.aborted && isOne(answer));
    sent.then(
      (answers) => undo(operations.filter((_, index) => isUndone(answers[index]))),
      () => undo(operations),
    );
    return sent.catch(rethrow);
  }

  function undo(operations: readonly StoreOperation[]): void {
    const send = areTogether ? undoTogether : (undo: Operation) => runTogether(client, script, [undo]);
    for (const { undo } of operations) if (undo) send(undo).catch(() => {});
  }

  /** Runs operations within one time limit: a guard for each would cost more than the operation. */
  function runGuarded(operations: readonly StoreOperation[]): Promise<readonly unknown[]> {
    return guard.run((signal) => run(operations, signal));
  }

  async function send(operation: StoreOperation): Promise<unknown> {
    return throwIfRefused(areTogether ? await sendTogether(operation) : (await runGuarded([operation]))[0]);
  }

  async function sendChecked(operation: StoreOperation): Promise<unknown> {
    const [answer] = await guard.run(async (signal) => {
      await eviction.recheck().catch(rethrow);
      signal.throwIfAborted(); // its caller no longer waits
      return run([operation], signal);
    });
    return throwIfRefused(answer);
  }

  /** Returns the answer, or throws it if it is an error. */
  function throwIfRefused(answer: unknown): unknown {
    return answer instanceof Error ? guard.runUnchecked(async () => rethrow(answer)) : answer;
  }

  const server = serverPlace(client);
  return {
    place: server && `${server}, keys ${keyPrefix}*`,
    ready: () =>
      guard.run(async (signal) => {
        if (eviction.isDue()) await eviction.recheck().catch(rethrow);
        await tryOut(signal);
      }),
    send,
    begin: (operation) => (eviction.isDue() ? sendChecked(operation) : send(operation)),
    close: () => guard.close(close),
  };
}

function answerOf(answer: unknown): unknown {
  if (answer instanceof Error) throw answer;
  return answer;
}
