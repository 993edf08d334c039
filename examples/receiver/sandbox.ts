/** The control side of the sandbox that `npm run sandbox` starts. */
export const sandboxUrl: string = process.env["SANDBOX_URL"] ?? "http://127.0.0.1:4011";

interface Endpoint {
  readonly url: string;
  readonly signingSecret: string;
}

/** The secret of this URL at the sandbox, where it is registered for every event if it is not yet. Undefined: no sandbox runs. */
export async function registeredSecret(url: string): Promise<string | undefined> {
  const endpoints = await call<Endpoint[]>("/endpoints?limit=100");
  if (endpoints === undefined) return undefined;
  const known = endpoints.find((endpoint) => endpoint.url === url);
  return (known ?? (await call<Endpoint>("/endpoints", { method: "POST", body: JSON.stringify({ url }) })))
    ?.signingSecret;
}

async function call<Data>(path: string, request: RequestInit = {}): Promise<Data | undefined> {
  const response = await fetch(sandboxUrl + path, request).catch(() => undefined);
  if (response === undefined) return undefined;
  const { data, error } = (await response.json()) as { data: Data; error?: { message: string } };
  if (error !== undefined) throw new Error(`The sandbox refused ${path}: ${error.message}`);
  return data;
}
