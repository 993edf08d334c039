import { WebhookError } from "@esim-webhooks/core";
import { withoutArguments } from "@esim-webhooks/core/internal";

/** Stable codes of the errors that this package throws, in addition to those of core. */
export type BullmqErrorCode =
  | "evicting_store"
  | "missing_replicas"
  | "missing_rights"
  | "read_only_store"
  | "unsaved_store"
  | "wrong_credentials";

/** The errors of a server that refuses what the queue needs. */
const refusals: readonly {
  readonly answer: RegExp;
  readonly code: BullmqErrorCode | "store_full" | "store_unavailable";
  readonly problem: string;
  readonly remedy: string;
}[] = [
  {
    answer: /\bREADONLY You can't write/,
    code: "read_only_store",
    problem: "The Redis server of bullmqInbox is a read-only replica.",
    remedy:
      'Connect to its master: by the master\'s address, through Sentinel, or with a Cluster. After a failover, a client of your own reconnects with reconnectOnError: ({ message }) => message.includes("READONLY").',
  },
  {
    answer: /\bWRONGPASS\b/,
    code: "wrong_credentials",
    problem: "The Redis server of bullmqInbox does not know the connection's user, or its password is wrong.",
    remedy: "Check both; in a URL, percent-encode the password's special characters.",
  },
  {
    answer: /\bNOAUTH\b/,
    code: "wrong_credentials",
    problem: "The Redis server of bullmqInbox requires a password, and the connection has none.",
    remedy: "Add it: redis://user:password@host:6379, or redis://:password@host:6379 for the default user.",
  },
  {
    answer: /\bNOPERM\b|user executing the script can't|\bunknown (?:redis )?command\b/i,
    code: "missing_rights",
    problem: "The Redis server of bullmqInbox refuses commands or keys that BullMQ needs.",
    remedy: "Grant its user the queue's keys (~bull:*), all commands on them, and +info; rename no command.",
  },
  {
    answer: /\bOOM command not allowed/,
    code: "store_full",
    problem: "The Redis server of bullmqInbox has used all the memory that maxmemory allows.",
    remedy: "Raise maxmemory, or keep done jobs for a shorter time (removeOnComplete).",
  },
  {
    answer: /\bMISCONF\b/,
    code: "unsaved_store",
    problem: "The Redis server of bullmqInbox refuses writes, since it could not save its data to disk.",
    remedy: "See its log; make room on its disk, or correct the rights of its folder.",
  },
  {
    answer: /\bNOREPLICAS\b/,
    code: "missing_replicas",
    problem: "The Redis server of bullmqInbox refuses writes, since too few replicas are in sync with it.",
    remedy: "Bring its replicas back, or lower min-replicas-to-write.",
  },
  {
    answer: /\bWRONGTYPE\b/,
    code: "store_unavailable",
    problem: "A key of the queue of bullmqInbox has a value that BullMQ did not write.",
    remedy: "Delete that key, or give the inbox a queue or a prefix of its own.",
  },
];

/** Explains the error of a server that refuses. Other errors only lose their command's arguments. */
export function explained(error: unknown): unknown {
  if (!(error instanceof Error) || WebhookError.is(error)) return error;
  const cause = withoutArguments(error);
  const refusal = refusals.find(({ answer }) => answer.test(error.message));
  if (refusal === undefined) return cause;
  const { code, problem, remedy } = refusal;
  return new WebhookError<typeof code>(code, problem, remedy, { cause });
}
