import type { CallName, Calls, Failure } from "../src/contract.ts";

/** The headers that the page sends. */
export const pageHeaders = {
  "content-type": "application/json",
  "x-esim-webhooks-dashboard": "1",
  "sec-fetch-site": "same-origin",
};

export const base = "http://ops.example/webhooks-inbox/";

/** A call as the page makes it. */
export function request(name: string, input: unknown = {}, headers: Record<string, string> = {}): Request {
  return new Request(new URL(`api/${name}`, base), {
    method: "POST",
    headers: { ...pageHeaders, ...headers },
    body: typeof input === "string" ? input : JSON.stringify(input),
  });
}

/** What a call was refused with. */
export class Refused extends Error {
  readonly failure: Failure;

  constructor(status: number, failure: Failure) {
    super(`${status} ${failure.code}: ${failure.message}`);
    this.failure = failure;
  }
}

type PageCall = <Name extends CallName>(name: Name, input: Calls[Name]["in"]) => Promise<Calls[Name]["out"]>;

/** Makes calls of a dashboard. They reject with `Refused`. */
export function callsOf(dashboard: (request: Request) => Promise<Response>): PageCall {
  return async (name, input) => {
    const response = await dashboard(request(name, input));
    const answer: unknown = await response.json();
    if (response.status !== 200) throw new Refused(response.status, answer as Failure);
    return answer as never;
  };
}

/** The code that a call is refused with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Refused) return error.failure.code;
    throw error;
  }
  throw new Error("The call was not refused.");
}
