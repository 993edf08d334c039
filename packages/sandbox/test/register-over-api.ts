import type { Sandbox } from "@esim-webhooks/sandbox";

/** Registers an endpoint as a partner does, with a token of the sandbox's own client. Returns its reference. */
export async function registerOverApi(
  { url, credentials: { clientId, clientSecret } }: Sandbox,
  endpoint: { readonly url: string; readonly eventTypes: readonly string[] },
): Promise<string> {
  const form = new URLSearchParams({ client_id: clientId, client_secret: clientSecret });
  const { access_token } = await answered<{ access_token: string }>(`${url}/auth/token`, form);
  const { data } = await answered<{ data: { webhookEndpointReference: string } }>(
    `${url}/management/webhooks`,
    JSON.stringify(endpoint),
    { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
  );
  return data.webhookEndpointReference;
}

async function answered<Body>(
  url: string,
  body: string | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Body> {
  const response = await fetch(url, { method: "POST", body, headers });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Body;
}
