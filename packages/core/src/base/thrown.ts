/** The readable parts of a thrown value. */
export interface Thrown {
  /** Whether it is an error of any realm, or another object whose `message` is text. */
  readonly isError: boolean;
  /** The name of an error; empty for another value. */
  readonly name: string;
  /** The message of an error, or the value as text. */
  readonly message: string;
  /** The name and message of an error, or the value as text. */
  readonly text: string;
  /** The stack of an error; empty if it has none. */
  readonly stack: string;
  /** The cause of an error; else the first error in an `AggregateError`, such as that of a host which answered at none of its addresses. Undefined: none. */
  readonly cause: unknown;
}

const unconvertible = "A value was thrown that cannot be converted to text."; // such as an object without a prototype
const unreadable = "The message of the error cannot be read.";

/** Describes a thrown value, which can be anything: a proxy, a frozen error or one whose getters throw. Never throws. */
export function describeThrown(thrown: unknown): Thrown {
  const message = readThrown(thrown, "message");
  const isError = isInstance(thrown, Error) || (isObject(thrown) && typeof message === "string");
  if (!isError) {
    const text = thrownText(thrown) ?? unconvertible;
    return { isError, name: "", message: text, text, stack: "", cause: undefined };
  }
  const shown = (message === undefined ? undefined : thrownText(message)) ?? unreadable;
  const name = thrownText(readThrown(thrown, "name") ?? "") || "Error";
  const stack = readThrown(thrown, "stack");
  return {
    isError,
    name,
    message: shown,
    text: `${name}: ${shown}`,
    stack: typeof stack === "string" ? stack : "",
    cause:
      readThrown(thrown, "cause") ??
      (name === "AggregateError" ? readThrown(readThrown(thrown, "errors"), "0") : undefined),
  };
}

/** A property of a thrown value. Undefined if it cannot be read. */
export function readThrown(thrown: unknown, key: string): unknown {
  try {
    return isObject(thrown) ? Reflect.get(thrown, key) : undefined;
  } catch {
    return undefined; // a getter, or a proxy
  }
}

/** Whether a thrown value is an instance of a class. False for a proxy that throws. */
export function isInstance<Instance>(
  thrown: unknown,
  of: abstract new (...given: never[]) => Instance,
): thrown is Instance {
  try {
    return thrown instanceof of;
  } catch {
    return false;
  }
}

/** Whether a thrown value has a property, such as the brand of a class. False for a proxy that throws. */
export function hasBrand(thrown: unknown, brand: symbol): boolean {
  try {
    return typeof thrown === "object" && thrown !== null && brand in thrown;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns a value as text that every database can store. Undefined if it cannot be converted. */
function thrownText(value: unknown): string | undefined {
  try {
    const text = typeof value === "function" ? `function ${value.name}` : String(value);
    return text.replaceAll("\0", "\uFFFD").toWellFormed();
  } catch {
    return undefined;
  }
}
