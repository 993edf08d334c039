import { createHash } from "node:crypto";
import type { Service } from "../../base/service.ts";
import type { Middleware } from "./environment.ts";
import { HttpRefusal } from "./error-answer.ts";
import type { IdempotencyKeys } from "./idempotency-keys.ts";

export const idempotencyHeader = "X-Idempotency-Key";
const maxKeyLength = 255;
/** These statuses say nothing about the operation: only a fault instead of the operation answers with them. */
const neverKept: readonly number[] = [401, 423, 429];

/**
 * Answers a call with the answer that its idempotency key has, if any. An operation keeps its success in its own transaction;
 * this middleware keeps errors, by the switch `cacheErrors`.
 */
export function idempotent(service: Service, keys: IdempotencyKeys): Middleware {
  return async (context, next) => {
    const key = context.req.header(idempotencyHeader);
    if (key === undefined) return next();
    if (key === "" || key.length > maxKeyLength) {
      throw new HttpRefusal(
        400,
        `${idempotencyHeader} has ${key.length} characters. Send 1 to ${maxKeyLength}: a UUID, for example.`,
      );
    }
    const use = {
      clientReference: context.get("clientReference"),
      key,
      fingerprint: fingerprintOf(await context.req.text()),
    };
    const kept = keys.begin(use);
    if (kept !== undefined) {
      const { status, contentType, body } = kept;
      return contentType === null
        ? new Response(null, { status })
        : new Response(body, { status, headers: { "content-type": contentType } });
    }
    context.set("idempotencyKey", use);
    try {
      await next();
      const { res } = context;
      if (service.switches.cacheErrors === "on" && res.status >= 400 && !neverKept.includes(res.status)) {
        const contentType = res.headers.get("content-type");
        keys.keep(use, { status: res.status, contentType, body: await res.clone().text() });
      }
    } finally {
      keys.end(use);
    }
  };
}

/**
 * A fingerprint, which is the same for bodies that differ only in whitespace and the order of keys: SHA-256 of the canonical JSON,
 * hexadecimal. Numbers beyond 2^53 are compared as they are written, since `JSON.parse` rounds them.
 */
export function fingerprintOf(body: string): string {
  return createHash("sha256").update(canonical(body)).digest("hex");
}

/** The canonical JSON of a body. A body that is no JSON, or empty, stays as it is. */
function canonical(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body, canonicalValue));
  } catch {
    return body;
  }
}

/** TypeScript does not know `JSON.rawJSON` yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object };

function canonicalValue(_key: string, value: unknown, { source = "" }: { source?: string } = {}): unknown {
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) return rawJSON(source);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  // an own property "__proto__" has to stay one
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
