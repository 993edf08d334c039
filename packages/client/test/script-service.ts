import type { Fetch } from "@esim-webhooks/client";

/** What becomes of one request: whether the service does what is asked, and how it answers. */
export interface Step {
  /** Does it before it answers so. Without, only a success does it. */
  readonly done?: boolean;
  readonly answer: number | "drop" | "cut" | "hang";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  /** By the service's clock. */
  readonly at: number;
}

export interface ScriptService {
  readonly fetch: Fetch;
  /** The requests, without those for a token. */
  readonly seen: readonly Seen[];
  /** How many times a token was asked for. */
  readonly tokens: number;
  /** How many times something took effect. */
  readonly effects: number;
}

/**
 * A service in memory that keeps answers by their idempotency keys, as the API says. Each request plays one step of the
 * script; after the last one, every request succeeds.
 */
export function scriptService(script: readonly Step[] = [], now: () => number = () => 0): ScriptService {
  const seen: Seen[] = [];
  const doneKeys = new Map<string, string>();
  const deleted = new Set<string>();
  const state = { tokens: 0, effects: 0 };

  /** What the service would answer in good health. */
  function act({ method, url, headers, body = "" }: Seen): Response {
    if (method === "GET") return Response.json({ data: "read" });
    if (method === "DELETE") {
      if (deleted.has(url)) return new Response(null, { status: 404 });
      deleted.add(url);
    } else {
      const key = headers.get("x-idempotency-key");
      const known = key === null ? undefined : doneKeys.get(key);
      if (known !== undefined) {
        return known === body ? Response.json({ data: "done" }) : new Response(null, { status: 422 });
      }
      if (key !== null) doneKeys.set(key, body);
    }
    state.effects += 1;
    return Response.json({ data: "done" });
  }

  return {
    seen,
    get tokens() {
      return state.tokens;
    },
    get effects() {
      return state.effects;
    },
    async fetch(url, { method = "GET", headers, body, signal }) {
      if (url.endsWith("/auth/token")) {
        state.tokens += 1;
        return Response.json({ access_token: `token-${state.tokens}`, expires_in: 86_400 });
      }
      const request = {
        method,
        url,
        headers: new Headers(headers),
        body: body as string | undefined,
        at: now(),
      };
      const step = script[seen.push(request) - 1] ?? { answer: 200 };
      const isSuccess = typeof step.answer === "number" && step.answer < 300;
      const healthy = step.done || isSuccess ? act(request) : undefined;
      if (step.answer === "drop") throw new TypeError("fetch failed");
      if (step.answer === "hang")
        return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      if (step.answer === "cut") return new Response(cutStream());
      if (isSuccess && step.body === undefined) return healthy ?? Response.error();
      const hasBody = step.answer >= 200 && step.answer !== 204 && step.answer !== 205 && step.answer !== 304;
      return new Response(hasBody ? (step.body ?? "") : null, {
        status: step.answer,
        headers: { ...step.headers },
      });
    },
  };
}

function cutStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"data":'));
      controller.error(new TypeError("terminated"));
    },
  });
}
