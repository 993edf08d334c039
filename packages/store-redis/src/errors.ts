import { WebhookError } from "@esim-webhooks/core";

/** Stable codes of the errors that this store throws, in addition to those of core. */
export type RedisErrorCode =
  /** The Redis server may evict events and ids when its memory is short. Set maxmemory-policy to noeviction, use a separate server, or accept the risk with `allowEviction`. */
  "evicting_store" | "missing_replicas" | "missing_rights" | "read_only_store" | "unsaved_store";

/** The errors of a server that refuses what the store needs. In Redis 6, the error of a command is inside that of its script. */
const refusals: readonly {
  readonly answer: RegExp;
  readonly code: RedisErrorCode | "store_full";
  problem(name: string): string;
  readonly remedy: string;
}[] = [
  {
    answer: /\bREADONLY You can't write/,
    code: "read_only_store",
    problem: (name) => `The Redis server of ${name} is a read-only replica.`,
    remedy:
      'Connect to its master: by the master\'s address, through Sentinel, or with a Cluster. After a failover, a client of your own reconnects with reconnectOnError: ({ message }) => message.includes("READONLY").',
  },
  {
    answer: /\bNOPERM\b|user executing the script can't|\bunknown (?:redis )?command\b/i,
    code: "missing_rights",
    problem: (name) => `The Redis server of ${name} refuses commands or keys that it needs.`,
    remedy:
      "Grant its user the keys of the keyPrefix (~esim-webhooks:*) and +evalsha +eval +get +set +del +pttl +pexpire, and with waitReplicas +wait; rename no command.",
  },
  {
    answer: /\bOOM command not allowed/,
    code: "store_full",
    problem: (name) => `The Redis server of ${name} has used all the memory that maxmemory allows.`,
    remedy: "Raise maxmemory, or remove keys of other programs.",
  },
  {
    answer: /\bMISCONF\b/,
    code: "unsaved_store",
    problem: (name) =>
      `The Redis server of ${name} refuses writes, since it could not save its data to disk.`,
    remedy: "See its log; make room on its disk, or correct the rights of its folder.",
  },
  {
    answer: /\bNOREPLICAS\b/,
    code: "missing_replicas",
    problem: (name) =>
      `The Redis server of ${name} refuses writes, since too few replicas are in sync with it.`,
    remedy: "Bring its replicas back, or lower min-replicas-to-write.",
  },
];

/** The error of a server that refuses, with how to fix it. Other errors stay as they are. */
export function explained(name: string, error: unknown): unknown {
  if (!(error instanceof Error) || WebhookError.is(error)) return error;
  const refusal = refusals.find(({ answer }) => answer.test(error.message));
  if (refusal === undefined) return error;
  const { code, problem, remedy } = refusal;
  return new WebhookError<RedisErrorCode | "store_full">(code, problem(name), remedy, { cause: error });
}
