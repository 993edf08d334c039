import { WebhookError } from "@esim-webhooks/core";
import type { BullmqErrorCode } from "./errors.ts";
import { withoutPassword } from "./without-password.ts";

/** A server that answers, but refuses what the queue needs. */
const refusals: readonly {
  readonly answer: RegExp;
  readonly code: BullmqErrorCode | "store_full";
  readonly problem: string;
  readonly remedy: string;
}[] = [
  {
    answer: /\bREADONLY You can't write/,
    code: "read_only_store",
    problem: "The Redis server of bullmqInbox is a read-only replica.",
    remedy: "Connect to its master: by the master's address, through Sentinel, or with a Cluster.",
  },
  {
    answer: /\bNOPERM\b|user executing the script can't/,
    code: "missing_rights",
    problem: "The Redis user of bullmqInbox lacks rights that BullMQ needs.",
    remedy: "Grant it the queue's keys (~bull:*), all commands on them, and +info.",
  },
  {
    answer: /\bOOM command not allowed/,
    code: "store_full",
    problem: "The Redis server of bullmqInbox has used all the memory that maxmemory allows.",
    remedy: "Raise maxmemory, or keep done jobs for a shorter time (removeOnComplete).",
  },
];

/** The error of a server that refuses, with how to mend it. Other errors stay as they are. */
export function explained(error: unknown): unknown {
  if (!(error instanceof Error) || WebhookError.is(error)) return error;
  const refusal = refusals.find(({ answer }) => answer.test(error.message));
  if (refusal === undefined) return withoutPassword(error);
  const { code, problem, remedy } = refusal;
  return new WebhookError<BullmqErrorCode | "store_full">(code, problem, remedy, { cause: error });
}
