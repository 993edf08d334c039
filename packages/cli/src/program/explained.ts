import type { ApiError, ApiErrorCode } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { durableStores, span } from "@esim-webhooks/core/kit";
import { maskText } from "@esim-webhooks/core/masking";

/** What the user has called, as far as the sentence of an error needs it. */
export interface Called {
  readonly command?: "endpoint ensure" | "import" | "reconcile" | "rotate" | "sandbox";
  /** The command as the user typed it. */
  readonly typed?: string;
  /** The config file. */
  readonly config?: string | undefined;
  /** The variable or the file that has the option with the mistake. */
  readonly writtenIn?: string | undefined;
  /** The store or the inbox by its place, and what to check when it does not answer. */
  readonly store?: { readonly name: string; readonly remedy: string } | undefined;
  /** The name of the dump, and its checkpoint file. */
  readonly dump?: string;
  readonly checkpoint?: string | undefined;
}

/** An error of a library, as data. */
type Described = Pick<WebhookError<string>, "code" | "problem" | "remedy"> &
  Partial<Pick<WebhookError, "option" | "cause">>;
type Halves = Pick<WebhookError, "problem" | "remedy">;
/** What the command line says in other words than the library. */
type Sentence = Partial<Halves & Pick<WebhookError, "cause">>;
type Wording = (error: Described, called: Called) => Sentence | undefined;

/** What a user writes for an option of the libraries. */
const flags: Readonly<Record<string, string>> = {
  acceptLoss: "--accept-loss",
  checkReceivers: "--no-check",
  controlPort: "--control-port",
  maxRatio: "--max-ratio",
  maxUnpackedBytes: "--max-unpacked-bytes",
  port: "--port",
  secretForm: "--secret-form",
};

const receiverBegan = "the time when your receiver began to store events: 2h, 7d, 2026-11-20";
const never = "This endpoint was never reconciled with this store, so it is not known how far back to look";
const otherSource: Wording = () => ({
  remedy:
    "Name the endpoint as its receiver does, with --source; or add --new-source if this one has no events there yet.",
});

/** How the command line words an error, by its code. Left out, or undefined: as the library does. */
const wordings: Readonly<Record<string, Wording>> = {
  cannot_listen: ({ option = "", cause }, { typed }) => {
    const isTaken = (cause as NodeJS.ErrnoException).code === "EADDRINUSE";
    const choose = isTaken ? "Stop that one, or choose another port" : "Choose another port";
    return { remedy: `${choose}: ${typed} ${flags[option]} 0 takes any free one.` };
  },
  checkpoint_mismatch: (_, { checkpoint }) => ({
    problem: `${checkpoint} belongs to an interrupted import of another dump or with other flags.`,
    remedy:
      "Use the same dump and flags to continue that import, or remove the file to start over: what was imported is skipped as duplicate.",
  }),
  dump_too_large: ({ option = "" }) => ({
    remedy: `If you trust its sender, raise ${flags[option]}; otherwise treat it as an attack.`,
  }),
  durable_store_required: ({ option }, { config = "the config" }) => ({
    problem: `The ${option} in ${config} is not durable, or does not say so: recovered events could be lost, or handled twice.`,
    remedy: `Give ${config} one that is: ${durableStores}. Or leave it out to use the default one.`,
  }),
  endpoint_cap: () => ({
    remedy: "Reconcile one that is not needed, then delete it: esim-webhooks api endpoints list shows them.",
  }),
  endpoint_unknown: (_, { command }) => {
    const remedy =
      "--replace needs exactly one endpoint of the URL: register it with esim-webhooks endpoint ensure <url>, or reconcile and delete those that are not needed.";
    return command === "endpoint ensure" ? { remedy } : undefined;
  },
  foreign_file: () => ({
    remedy:
      "Name another one with --rejects or --checkpoint, in a folder where only you can write; or remove it, if it is not needed.",
  }),
  invalid_secret: ({ option }, { command }) => {
    if (option !== "secretForm") return undefined;
    const form = `with ${flags[option]}: hex, base64 or utf8.`;
    return command === "rotate"
      ? { remedy: `Rotate again within 10 minutes ${form} Receivers answer 503 until then.` }
      : { remedy: `Run it again ${form} It continues with the same endpoint.` };
  },
  migration_missing: (error, { store }) => {
    const problem = `${store?.name} is not set up for this version.`;
    return store && { problem, remedy: "Run esim-webhooks migrate.", cause: error };
  },
  no_watermark: (_, { command }) =>
    command === "rotate"
      ? {
          problem: `${never} for events that the rotation may cost. The secret was not replaced.`,
          remedy: `Run esim-webhooks reconcile --since with ${receiverBegan}. Then rotate again; or add --no-reconcile.`,
        }
      : {
          problem: `${never}.`,
          remedy: `Add --since with ${receiverBegan}. Events that were received before would run again.`,
        },
  not_settled: ({ option = "" }) =>
    option in flags
      ? {
          remedy: `Fix what the log says of them. With --since, events whose handlers failed are retried immediately. With ${flags[option]}, the endpoint is deleted all the same. Run it again: it continues.`,
        }
      : undefined,
  receivers_not_ready: ({ option = "" }) =>
    option in flags
      ? {
          remedy: `Have all receivers read this key store (in a container, mount the folder of a key file, never the file), and unset ESIM_WEBHOOK_SECRET for them, which takes precedence over a config. Then rotate again. If something else answers 401 there, add ${flags[option]}.`,
        }
      : undefined,
  source_unknown: otherSource,
  store_unavailable: (error, { store }) => {
    if (/ certificate /.test(error.problem)) return undefined;
    const problem = `${store?.name} cannot be reached, or refused what it was asked.`;
    return store && { problem, remedy: store.remedy, cause: error };
  },
  unsigned_dump: (_, { dump }) => ({
    problem: `${dump} has records without a signature, as in the deliveries listing: nothing proves who wrote them.`,
    remedy: "If you trust where it comes from, add --trust-unsigned.",
  }),
};

/** The functions whose options a config has: the user has not called them. */
const readersOfConfigs: readonly unknown[] = [
  "createClient",
  "createProcessor",
  "createWorker",
  "webhook receiver",
];

/** An error of a library in terms of the command line: with flags, commands and what the user wrote. Any other error as it is. */
export function explained(error: unknown, called: Called): unknown {
  if (!WebhookError.is(error) || isOfCall(error)) return error;
  const { where } = error;
  const { writtenIn } = called;
  const wording = wordings[error.code]?.(error, called);
  if (wording === undefined && writtenIn === undefined) return error;
  const { problem, remedy, cause = error.cause } = { ...halvesOf(error), ...wording };
  const isOurs = where === undefined || readersOfConfigs.includes(where);
  const place = isOurs || writtenIn === undefined ? (writtenIn ?? where) : `${writtenIn}: ${where}`;
  return new WebhookError<string>(error.code, problem, remedy, { where: place, cause });
}

/** The same for the error that a report has as data: both halves as one text. */
export function explainedText(error: Described, called: Called): string {
  const { problem, remedy } = { ...halvesOf(error), ...wordings[error.code]?.(error, called) };
  return `${problem} ${remedy}`;
}

function halvesOf({ problem, remedy }: Described): Halves {
  return { problem, remedy };
}

/** An error of a call to the API, without the names of the client's functions and with what the service says. Any other error as it is. */
export function explainedCall(error: unknown): unknown {
  if (!isOfCall(error)) return error;
  const innermost = isOfCall(error.cause) ? error.cause : error; // of the token that the call needed
  const { cause } = innermost;
  return new WebhookError<ApiErrorCode>(error.code, whatHappened(innermost), remedyOf(innermost), { cause });
}

/** The error of a call that registers an endpoint: what to do if the service has done it all the same. */
export function explainedCreate(error: unknown): unknown {
  if (!isOfCall(error)) return error;
  const isUnclear = error.code === "unexpected_answer" || error.code === "secret_not_shown";
  if (error.attempts === 0 || !(error.retryable || isUnclear)) return error;
  return new WebhookError<ApiErrorCode>(
    error.code,
    whatHappened(error),
    "The endpoint may be registered, and its secret is lost: esim-webhooks api endpoints list shows it. Delete it then, and create it again.",
    { cause: error.cause },
  );
}

function isOfCall(error: unknown): error is ApiError {
  return WebhookError.is(error) && (error as Error).name === "ApiError";
}

function whatHappened({ problem }: ApiError): string {
  return problem.charAt(0).toUpperCase() + problem.slice(1);
}

/** The codes of answers whose only explanation is that of the service. */
const refusals: readonly ApiErrorCode[] = ["bad_request", "conflict", "unexpected_status"];

/** What the service says about it, and what to do. */
function remedyOf({ code, remedy, status = 0, problemDetails, retryAfterMs }: ApiError): string {
  const said =
    problemDetails?.detail === undefined ? [] : [`The service says: ${maskText(problemDetails.detail)}`];
  if (problemDetails !== undefined && status >= 400 && refusals.includes(code))
    return said[0] ?? "The service does not say why.";
  if (code === "in_flight") said.push("The first request is still under way: run the command again later.");
  else if (code === "rate_limited" && retryAfterMs !== undefined)
    said.push(`Run it again in ${span(retryAfterMs + 999)}.`);
  else said.push(remedy);
  return said.join(" ");
}

/** Runs `make`. If it finds a mistake, the error names where that was written: a file or a variable. */
export function naming<Result>(where: string | undefined, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    throw explained(error, { writtenIn: where });
  }
}
