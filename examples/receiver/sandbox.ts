import { setTimeout as pause } from "node:timers/promises";

/** The control side of a sandbox. Default of `SANDBOX_URL`: the one that `npm run sandbox` starts. */
export const sandboxUrl: string = process.env["SANDBOX_URL"] || "http://127.0.0.1:4011";

interface Endpoint {
  readonly url: string;
  readonly signingSecret: string;
}

/**
 * Yields the secret of this URL at the sandbox whenever it changes: when the sandbox starts, and when a new one replaces it. Begins with
 * undefined if no sandbox runs. Looks once a second, and never ends.
 */
export async function* registeredSecrets(url: string): AsyncGenerator<string | undefined, never> {
  let last: string | undefined;
  for (let isFirst = true; ; isFirst = false) {
    const secret = await registeredSecret(url);
    if (isFirst || (secret !== undefined && secret !== last)) yield secret;
    last = secret ?? last;
    await pause(1000);
  }
}

/** Resolves to the secret of this URL. Registers the URL for every event if it is not registered yet. Undefined: no sandbox runs. */
async function registeredSecret(url: string): Promise<string | undefined> {
  const endpoints = await call<Endpoint[]>("/endpoints?limit=100");
  if (endpoints === undefined) return undefined;
  const known = endpoints.find((endpoint) => endpoint.url === url);
  return (known ?? (await call<Endpoint>("/endpoints", { method: "POST", body: JSON.stringify({ url }) })))
    ?.signingSecret;
}

async function call<Data>(path: string, request: RequestInit = {}): Promise<Data | undefined> {
  const response = await fetch(sandboxUrl + path, request).catch(() => undefined);
  if (response === undefined) return undefined;
  const answer = await response.json().catch(() => undefined); // something else listens there
  const { data, error } = (answer ?? {}) as { data?: Data; error?: { message: string } };
  if (error !== undefined) throw new Error(`The sandbox refused the receiver: ${error.message}`);
  return data;
}
