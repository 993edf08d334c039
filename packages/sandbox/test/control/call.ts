import type { Sandbox } from "@esim-webhooks/sandbox";

/** Of the control side. */
export interface Answer {
  readonly status: number;
  readonly data: Record<string, unknown> & Record<string, unknown>[];
  readonly error: { readonly code: string; readonly message: string };
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor: string | null };
}

export async function call(
  { controlUrl }: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const text = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(controlUrl + path, { method, body: text });
  return { status: response.status, ...((await response.json()) as object) } as Answer;
}

/** Registers it for every event. */
export async function register(sandbox: Sandbox, url: string): Promise<string> {
  const { data } = await call(sandbox, "POST", "/endpoints", { url });
  return String(data["webhookEndpointReference"]);
}
