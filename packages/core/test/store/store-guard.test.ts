import { WebhookError } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { createStoreGuard } from "../../src/store/store-guard.ts";

expectWarnings("evicting_store");

function guardWith(check: () => Promise<void>, timeoutMs = 1000) {
  return createStoreGuard({ name: "myStore", timeoutMs, logger: silentLogger, check });
}

describe("createStoreGuard", () => {
  it("checks once for concurrent operations, and not again after it succeeded", async () => {
    let checks = 0;
    const guard = guardWith(async () => {
      checks += 1;
    });
    expect(await Promise.all([1, 2, 3].map((n) => guard.run(async () => n)))).toEqual([1, 2, 3]);
    await guard.run(async () => 4);
    expect(checks).toBe(1);
  });

  it("runs no operation while the check fails, rejects with its error, and repeats it each time", async () => {
    let wrong = true;
    const guard = guardWith(async () => {
      if (wrong) throw new WebhookError<string>("evicting_store", "It evicts.", "Do not let it.");
    });
    await expect(guard.run(() => expect.unreachable())).rejects.toMatchObject({ code: "evicting_store" });
    wrong = false;
    expect(await guard.run(async () => "ran")).toBe("ran");
  });

  it("turns every error into a WebhookError, with the error as its cause", async () => {
    const cause = new Error("connect ECONNREFUSED");
    const guard = guardWith(async () => {});
    const error = await guard.run(() => Promise.reject(cause)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "store_unavailable", cause });
    expect(String(error)).toMatch(/myStore could not be reached.*its URL or credentials may be wrong\.$/);
  });

  it.each([
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "CERT_HAS_EXPIRED",
  ])("speaks of the certificate, also where a client wraps the error %s", async (code) => {
    const refused = Object.assign(new Error("refused"), { code });
    const guard = guardWith(async () => {});
    for (const cause of [refused, new Error("no connection", { cause: refused })]) {
      const error = await guard.run(() => Promise.reject(cause)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "store_unavailable", cause });
      expect(String(error)).toMatch(/certificate that was not accepted\. .*NODE_EXTRA_CA_CERTS/);
    }
  });

  it("rejects an operation that never ends, and aborts its signal", async () => {
    const guard = guardWith(async () => {}, 20);
    const told = Promise.withResolvers<void>();
    const never = (signal: AbortSignal) =>
      new Promise<never>(() => signal.addEventListener("abort", () => told.resolve()));
    await expect(guard.run(never)).rejects.toThrow(
      /did not answer within 20 ms\. Check that it is up and not overloaded\.$/,
    );
    await told.promise;
  });

  it("speaks of a file where a store has one", async () => {
    const options = { name: "myStore", timeoutMs: 20, logger: silentLogger, check: async () => {} };
    const guard = createStoreGuard({ ...options, backend: "file" });
    await expect(guard.run(() => new Promise(() => {}))).rejects.toThrow(
      /^The file of the myStore did not answer within 20 ms\. .* no other process keeps the file locked\.$/,
    );
    await expect(guard.run(() => Promise.reject(new Error("gone")))).rejects.toThrow(
      "The file of the myStore could not be reached, or refused the operation. See the error's cause.",
    );
  });

  it("rejects once it is closed, and frees its resources once", async () => {
    const guard = guardWith(async () => {});
    await guard.ready();
    let freed = 0;
    const free = async () => {
      freed += 1;
    };
    await Promise.all([guard.close(free), guard.close(free)]);
    await expect(guard.run(async () => {})).rejects.toMatchObject({ code: "store_unavailable" });
    expect(freed).toBe(1);
  });
});
