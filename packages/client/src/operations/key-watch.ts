import type { Logger } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/engine";
import type { Operation } from "../http/operation.ts";

/** Warns of a caller's idempotency key that is used for two operations. */
export interface KeyWatch {
  use(key: string, operation: Operation): void;
}

const mostKeys = 10_000;

/**
 * The service compares keys and bodies, not paths: a key that comes back on another path is answered with the result of the
 * first operation, or with 422. Remembers the last 10,000 keys.
 */
export function watchKeys(logger: Logger): KeyWatch {
  const places = new Map<string, string>();
  return {
    use(key, { name, method, url }) {
      const place = `${method} ${url}`;
      const first = places.get(key);
      places.delete(key);
      places.set(key, first ?? place);
      for (const oldest of places.keys()) {
        if (places.size <= mostKeys) break;
        places.delete(oldest);
      }
      if (first === undefined || first === place) return;
      warnOfSetup(
        logger,
        "idempotency_key_reused",
        `${name}: this idempotency key was used for another path, and the service may answer with the result of that operation. Use a key of its own for each operation: idempotencyKeyOf(event, purpose) takes a purpose.`,
      );
    },
  };
}
