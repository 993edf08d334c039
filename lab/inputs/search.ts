import fc from "fast-check";
import { type Random, seededRandom } from "../simulation/random.ts";
import type { Coverage, Reached } from "./coverage.ts";
import { generate, type Input, mutate, tokensOf } from "./grammar.ts";
import { checkThrown, type Reader } from "./reader.ts";

/** An input that a reader does not read as it should. */
export interface Failure {
  /** The problem, as a sentence for people. */
  readonly problem: string;
  /** The smallest such input that was found. */
  readonly input: Input;
  readonly error: Error;
}

/** The CPU time of a call in ms, and what it returned or threw. */
async function timed(reader: Reader, prepared: unknown) {
  let settled: { readonly value: unknown } | { readonly thrown: unknown };
  const before = process.cpuUsage();
  try {
    const value = reader.call(prepared);
    settled = { value: value instanceof Promise ? await value : value };
  } catch (thrown) {
    settled = { thrown };
  }
  const { user, system } = process.cpuUsage(before);
  return { settled, cpuMs: (user + system) / 1000 };
}

/** Reads an input. Resolves to what is wrong with that; undefined if nothing is. */
export async function failureOf(reader: Reader, input: Input): Promise<Error | undefined> {
  const prepared = reader.prepare(input);
  const { settled, cpuMs } = await timed(reader, prepared);
  try {
    if ("value" in settled) reader.check(settled.value, prepared);
    else {
      checkThrown(settled.thrown, reader);
      reader.checkError?.((settled.thrown as Error).message, prepared);
    }
  } catch (error) {
    return error as Error;
  }
  const most = reader.mostCpuMs ?? 50;
  return cpuMs > most
    ? slowness(reader, prepared, most + 3 * Math.min(parsingMs(input), parsingMs(input), parsingMs(input)))
    : undefined;
}

/** An error if the call is slow each of three more times: a busy machine, or a collection of garbage, is not. */
async function slowness(reader: Reader, prepared: unknown, mostMs: number): Promise<Error | undefined> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let times = 3; times > 0; times -= 1) {
    fastest = Math.min(fastest, (await timed(reader, prepared)).cpuMs);
    if (fastest <= mostMs) return undefined;
  }
  return new Error(`it takes more than ${mostMs.toFixed(0)} ms of CPU (${fastest.toFixed(0)} ms)`);
}

/** The CPU time in ms that this machine needs to parse the parts of an input: on some, a megabyte of new memory takes 20. */
function parsingMs(input: Input): number {
  const before = process.cpuUsage();
  for (const part of input) {
    try {
      JSON.parse(Buffer.from(part, "latin1").toString());
    } catch {
      // it is not JSON, as most parts are
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The same for errors that differ in numbers and quotations only. */
function kindOf({ message }: Error): string {
  return message.replace(/"(?:[^"\\]|\\.)*"|\d+/g, "…").slice(0, 80);
}

const longestToShrink = 20_000;

/** Makes an input smaller for as long as the same is wrong with it, for at most half a minute. */
async function shrunk(reader: Reader, input: Input, error: Error): Promise<Failure> {
  const problem = kindOf(error);
  if (input.join("").length > longestToShrink) return { problem: error.message, input, error };
  const part = fc.array(fc.integer({ min: 0, max: 255 }));
  const result = await fc.check(
    fc.asyncProperty(fc.tuple(...input.map(() => part)), async (parts) => {
      const failure = await failureOf(reader, parts.map(asText));
      if (failure !== undefined && kindOf(failure) === problem) throw failure;
    }),
    {
      examples: [[input.map((text) => [...text].map((character) => character.charCodeAt(0)))]],
      numRuns: 1,
      interruptAfterTimeLimit: 30_000,
    },
  );
  const smallest = result.counterexample?.[0]?.map(asText) ?? input;
  const last = (await failureOf(reader, smallest)) ?? error;
  return { problem: last.message, input: smallest, error: last };
}

function asText(bytes: readonly number[]): string {
  return String.fromCharCode(...bytes);
}

/** The first inputs of a seed, as the grammar generates them. */
export function generated({ name, grammar, parts }: Reader, seed: number, inputs: number): readonly Input[] {
  const random = seededRandom(`${seed} ${name}`);
  return Array.from({ length: inputs }, () => parts.map((part) => generate(grammar, part, random)));
}

/** A search for inputs of one reader. */
export interface Search {
  readonly reader: Reader;
  /** Reads that many more inputs. */
  run(inputs: number): Promise<void>;
  /** How many inputs were read. */
  readonly read: number;
  /** The inputs that reached something new, in the order in which they were found. */
  readonly kept: readonly Input[];
  readonly failures: readonly Failure[];
  /** Reads what was kept again, the shortest first. Resolves to those inputs that reach all of it, and all failures. */
  smallest(): Promise<readonly Input[]>;
}

const mostFailures = 5;

/** Searches for inputs that reach new blocks, from those in `corpus` on, and for those that are not read as they should be. */
export function createSearch(
  reader: Reader,
  seed: number,
  corpus: readonly Input[],
  coverage: Coverage,
): Search {
  const random = seededRandom(`${seed} ${reader.name}`);
  const tokens = tokensOf(reader.grammar);
  const kept: Input[] = [];
  const failures: Failure[] = [];
  const kinds = new Set<string>();
  const waiting = [...corpus];
  let size = 64;
  let read = 0;

  function next(): Input {
    const known = waiting.shift();
    if (known !== undefined) return known;
    const fresh = () => reader.parts.map((part) => generate(reader.grammar, part, random));
    const base = random.pick(kept);
    if (base === undefined || random.chance(0.4)) return fresh();
    return mutant(base, fresh(), random);
  }

  /** An input that was kept, with one part or more changed. */
  function mutant(base: Input, fresh: Input, random: Random): Input {
    const at = random.below(base.length);
    return base.map((part, index) => {
      if (index !== at && random.chance(0.85)) return part;
      if (random.chance(0.2)) return fresh[index] ?? "";
      return mutate(part, random, tokens, [fresh[index] ?? "", random.pick(kept)[index] ?? ""]);
    });
  }

  async function readAll(inputs: readonly Input[]): Promise<Reached> {
    for (const input of inputs) {
      read += 1;
      const error = await failureOf(reader, input);
      if (error === undefined || kinds.has(kindOf(error))) continue;
      kinds.add(kindOf(error));
      const failure = await shrunk(reader, input, error);
      failures.push(failure);
      kept.push(failure.input);
      if (failures.length === mostFailures) break;
    }
    return coverage.take();
  }

  /** Finds the inputs among these that reach something new, by reading each half again. */
  async function keepNew(inputs: readonly Input[], reached: Reached): Promise<void> {
    if (coverage.news(reached) === 0) return;
    if (inputs.length === 1) {
      const [input] = inputs;
      if (input !== undefined && !kept.includes(input)) kept.push(input);
    } else {
      const middle = inputs.length >> 1;
      for (const half of [inputs.slice(0, middle), inputs.slice(middle)])
        await keepNew(half, await readAll(half));
    }
    coverage.remember(reached); // code that runs once, such as an import, is not reached again
  }

  return {
    reader,
    kept,
    failures,
    get read() {
      return read;
    },
    async smallest() {
      const found: Input[] = failures.map(({ input }) => input);
      coverage.forget();
      for (const input of [...kept].sort((a, b) => a.join("").length - b.join("").length)) {
        const reached = await readAll([input]);
        if (coverage.news(reached) > 0 && !found.includes(input)) found.push(input);
        coverage.remember(reached);
      }
      return found;
    },
    async run(inputs) {
      coverage.take(); // of what other readers reached
      for (const end = read + inputs; read < end && failures.length < mostFailures; ) {
        const batch = Array.from({ length: Math.min(size, end - read) }, next);
        const reached = await readAll(batch);
        const isNew = coverage.news(reached) > 0;
        await keepNew(batch, reached);
        size = isNew ? Math.max(32, size >> 1) : Math.min(4096, size * 2);
      }
    },
  };
}
