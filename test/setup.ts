// Runs before each test file.
import dns from "node:dns";
import { afterAll, expect, vi } from "vitest";
import { forgetWarnings, unexpectedWarnings } from "./support/warnings.ts";

/** A class that the tests use and Node.js 22 does not have. The packages do not use it. */
class Resources {
  readonly #ends: (() => unknown)[] = [];

  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  defer(end: () => unknown): void {
    this.#ends.push(end);
  }

  async disposeAsync(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

globalThis.AsyncDisposableStack ??= Resources as unknown as AsyncDisposableStackConstructor;

// a machine's DNS may take longer than a test waits, until it says that shop.example is unknown
const { lookup } = dns;
const knownHere: unknown = Object.assign(
  (host: string, options: object, done: (...answer: unknown[]) => void) => {
    if (/^(?:localhost|[\d.]+|.*:.*|.*\.internal)$/.test(host)) lookup(host, options, done);
    else
      done(
        Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
          code: "ENOTFOUND",
          syscall: "getaddrinfo",
          host,
        }),
      );
  },
  lookup,
);
dns.lookup = knownHere as typeof lookup;

forgetWarnings();
afterAll(async () => {
  if (vi.isFakeTimers()) {
    vi.useRealTimers(); // the next file of this process has its own
    throw new Error(
      "This file has left fake timers. Call vi.useRealTimers() at the end of each test that fakes them.",
    );
  }
  const warnings = await unexpectedWarnings();
  const isExample = expect.getState().testPath?.includes("/examples/"); // which shows its readers only the test
  if (warnings.length === 0 || isExample) return;
  const text = `This file has caused warnings. If they are meant, allow them with expectWarnings() of test/support/warnings.ts.\n\n${warnings.join("\n\n")}`;
  if (process.env["PRINT_WARNINGS"] === undefined) throw new Error(text);
  process.stderr.write(`${expect.getState().testPath}: ${text}\n`);
});
