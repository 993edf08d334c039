import { runInNewContext } from "node:vm";

/** A value that a handler may throw. */
export interface OddThrow {
  readonly of: string;
  readonly thrown: unknown;
  /** The reason that operators see: the same on every engine. */
  readonly reason: string;
}

const unconvertible = "A value was thrown that cannot be converted to text.";
const refuses = () => {
  throw new TypeError("must not be seen");
};
const refusing: ProxyHandler<object> = { get: refuses, has: refuses, getPrototypeOf: refuses };

/** Makes values that are not plain errors, which nothing can stop a handler from throwing. */
export function oddThrows(): readonly OddThrow[] {
  const revoked = Proxy.revocable(new Error("revoked"), {});
  revoked.revoke();
  const inner = new Error("inner");
  const outer = new Error("outer", { cause: inner });
  inner.cause = outer;
  const withGetter = (key: string) => Object.defineProperty(new Error(`no ${key}`), key, { get: refuses });
  class Private extends Error {
    readonly #status = "held";
    override get name(): string {
      return `Private ${this.#status}`;
    }
  }
  return [
    {
      of: "a fetch that timed out",
      thrown: new DOMException("The operation was aborted due to timeout", "TimeoutError"),
      reason: "TimeoutError: The operation was aborted due to timeout",
    },
    { of: "a frozen error", thrown: Object.freeze(new RangeError("frozen")), reason: "RangeError: frozen" },
    { of: "a class with a private field", thrown: new Private("out"), reason: "Private held: out" },
    {
      of: "another realm",
      thrown: runInNewContext("TypeError('elsewhere')"),
      reason: "TypeError: elsewhere",
    },
    {
      of: "several errors",
      thrown: new AggregateError([new Error("first"), new Error("second")], "all failed"),
      reason: "AggregateError: all failed: caused by: Error: first",
    },
    { of: "a cycle of causes", thrown: outer, reason: "Error: outer: caused by: Error: inner" },
    {
      of: "a cause that cannot be read",
      thrown: new Error("outer", { cause: revoked.proxy }),
      reason: `Error: outer: caused by: ${unconvertible}`,
    },
    { of: "a throwing name", thrown: withGetter("name"), reason: "Error: no name" },
    { of: "a throwing stack", thrown: withGetter("stack"), reason: "Error: no stack" },
    { of: "a throwing cause", thrown: withGetter("cause"), reason: "Error: no cause" },
    {
      of: "a throwing message",
      thrown: withGetter("message"),
      reason: "Error: The message of the error cannot be read.",
    },
    { of: "a proxy", thrown: new Proxy(new Error("behind"), {}), reason: "Error: behind" },
    { of: "a proxy that throws", thrown: new Proxy(new Error("hidden"), refusing), reason: unconvertible },
    { of: "a revoked proxy", thrown: revoked.proxy, reason: unconvertible },
    { of: "a throwing toString", thrown: { toString: refuses }, reason: unconvertible },
    { of: "no prototype", thrown: Object.create(null), reason: unconvertible },
    { of: "a string", thrown: "out of stock", reason: "out of stock" },
    { of: "undefined", thrown: undefined, reason: "undefined" },
    { of: "null", thrown: null, reason: "null" },
    { of: "a symbol", thrown: Symbol("stock"), reason: "Symbol(stock)" },
    { of: "a function", thrown: function sell() {}, reason: "function sell" },
    { of: "NUL and half a character", thrown: new Error("a\0b\ud800"), reason: "Error: a\uFFFDb\uFFFD" },
    {
      of: "an error with a name of BullMQ's",
      thrown: Object.assign(new Error("later"), { name: "DelayedError" }),
      reason: "DelayedError: later",
    },
  ];
}
