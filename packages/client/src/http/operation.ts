import type { Priority } from "../limit/waiting-line.ts";

/** The HTTP methods of the API. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** A call of the API, ready to be sent any number of times. */
export interface Operation {
  /** Its name in errors and messages, such as `webhooks.create`. */
  readonly name: string;
  readonly method: Method;
  readonly url: string;
  /** The headers besides the token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The key of a POST or PATCH: the same at every attempt. */
  readonly idempotencyKey: string | undefined;
  /** Whether doing it twice does no more than doing it once, even without a key: GET, and the exchange of a token. */
  readonly isHarmless: boolean;
  /** Whether the body has credentials: then a message quotes nothing of the answer, which may repeat them. */
  readonly isConfidential: boolean;
  readonly priority: Priority;
}
