import { hasBrand } from "./thrown.ts";

/** The codes of the errors that core throws; they are stable. Other packages have their own codes. */
export type CoreErrorCode =
  /** No signing secret is set. Set `ESIM_WEBHOOK_SECRET`, or pass `secret`. */
  | "missing_secret"
  /** A secret, its window or a key file does not have the expected form. Copy the endpoint's signingSecret again: `whsec_` and then base64. */
  | "invalid_secret"
  /** An option does not exist, or its value is out of range. Correct the option that the message names. */
  | "invalid_option"
  /** A function or a method was called with a value that it cannot use. Pass the value that the message describes. */
  | "invalid_input"
  /** A handler or an option names an event type that the catalog does not have. Correct the name, or add the type with `defineCatalog`. */
  | "unknown_event_type"
  | "async_schema"
  | "conflicting_outcomes"
  | "outcome_too_late"
  /** There is no room left on a disk, or in the memory of a server. Free space, or raise the limit that the message names. */
  | "store_full"
  /** A store, an inbox, a state or a key store did not answer, has failed or was closed. Check that its server or disk is up; see the error's cause. */
  | "store_unavailable"
  /** The key source did not answer, or has failed, and no keys are loaded. Check that it is up, and see its error in the log. */
  | "keys_unavailable"
  /** The receiver was closed, or the process is stopping. Send to its replacement, or make another one. */
  | "shutting_down"
  | "close_timed_out";

const brand = Symbol.for("esim-webhooks.error");

/** The subject of an error, for code that rephrases its message. A field is undefined where it does not apply. */
export interface ErrorSubject {
  /** Where the mistake is: the function that was called, a variable, a file. The message begins with it. */
  readonly where?: string | undefined;
  /** The option that is wrong or missing. */
  readonly option?: string | undefined;
  /** The source of the events. */
  readonly source?: string | undefined;
  /** The file or folder. */
  readonly path?: string | undefined;
  /** The reference of the endpoint. */
  readonly endpoint?: string | undefined;
}

/**
 * An error in the set-up, the infrastructure or the caller's code. The result of a delivery is an `Outcome`, never an error.
 * Match on `code`, not on the message. Only `name` and `code` are enumerable, so a log line has each sentence once.
 * @template Code the codes of the package that throws it; default: those of core
 */
export class WebhookError<Code extends string = CoreErrorCode> extends Error implements ErrorSubject {
  /** The same for all codes: match on `code`. */
  override readonly name = "WebhookError";
  /** The kind of error. Stable, for programs. */
  readonly code: Code;
  /** The mistake: a sentence, which may begin in lower case after `where`. */
  declare readonly problem: string;
  /** How to fix it: a sentence. */
  declare readonly remedy: string;
  declare readonly where: string | undefined;
  declare readonly option: string | undefined;
  declare readonly source: string | undefined;
  declare readonly path: string | undefined;
  declare readonly endpoint: string | undefined;

  constructor(
    code: NoInfer<Code>,
    problem: string,
    remedy: string,
    { cause, ...subject }: ErrorSubject & { readonly cause?: unknown } = {},
  ) {
    const text = `${problem} ${remedy}`;
    super(
      subject.where === undefined ? text : `${subject.where}: ${text}`,
      cause === undefined ? {} : { cause },
    );
    this.code = code;
    for (const [name, value] of Object.entries({ problem, remedy, ...subject })) {
      Object.defineProperty(this, name, { value });
    }
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether a value is a `WebhookError`, even one from another copy of this package, which `instanceof` does not recognise. */
  static is(value: unknown): value is WebhookError<CoreErrorCode | (string & {})> {
    return hasBrand(value, brand);
  }
}
