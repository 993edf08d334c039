import { randomBytes } from "node:crypto";
import {
  createWorker,
  type EsimEvents,
  eraseSubject,
  type Handlers,
  type Inbox,
  type InboxAdmin,
  type InboxEntry,
  type InboxWriter,
  type Logger,
  type Rerunnable,
  type Settlement,
  type TakenEvent,
} from "@esim-webhooks/core";
import * as fc from "fast-check";
import { expect } from "vitest";
import { entry } from "./inbox-entry.ts";
import { loggerTo } from "./support/loggers.ts";

/** A step that may happen in an inbox, to any of three eSIMs. */
type Step =
  | {
      readonly do: "put";
      readonly esim: number;
      readonly type: (typeof types)[number];
      readonly isValid: boolean;
      readonly isImported: boolean;
      readonly fillerBytes: number;
    }
  | { readonly do: "settle"; readonly as: SettledAs | "leased" }
  | { readonly do: "redeliver" | "rerun" | "erase"; readonly esim: number }
  | { readonly do: "work" | "redrive" | "purgeDead" | "pause" | "resume" };

type SettledAs = Exclude<Settlement["state"], "waiting">;

/** The types. Workers handle the first, fail at the second and put off the third; no handler takes the last. */
const types = ["esim.enabled", "esim.faulted", "esim.disabled", "esim.deleted"] as const;

const esim = fc.nat({ max: 2 });
const put: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("put"),
  esim,
  type: fc.constantFrom("esim.faulted", ...types),
  isValid: fc.constantFrom(true, true, false),
  isImported: fc.boolean(),
  fillerBytes: fc.constantFrom(0, 300, 9000),
});
const settle: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("settle"),
  as: fc.constantFrom("done", "dead", "retry", "unhandled", "given_back", "leased"),
});
const others: readonly fc.Arbitrary<Step>[] = [
  fc.record({ do: fc.constantFrom("redeliver", "rerun", "erase"), esim }),
  fc.record({ do: fc.constantFrom("redrive", "purgeDead", "pause", "resume") }),
];
const history = fc.array(
  fc.oneof(
    { arbitrary: put, weight: 4 },
    { arbitrary: settle, weight: 2 },
    { arbitrary: fc.constant<Step>({ do: "work" }), weight: 2 },
    ...others,
  ),
  { minLength: 10, maxLength: 40 },
);

/** Texts that are in everything that is stored about an eSIM. */
interface Planted {
  readonly reference: string;
  /** In bodies, and in what an import notes. */
  readonly holder: string;
  /** In what handlers throw, which is logged as it is. */
  readonly thrown: string;
}

/** An inbox whose files and dumps can be searched. */
export interface SearchedInbox {
  readonly inbox: InboxWriter & InboxAdmin & Partial<Pick<Inbox, "take" | "settle">> & Partial<Rerunnable>;
  /** Takes an event and does not end it: of an inbox without `take`. */
  lease?(): Promise<void>;
  /** Runs a worker until it finds no more event. */
  work(handlers: Handlers<EsimEvents>, logger: Logger): Promise<void>;
  /**
   * All that the engine keeps, by the name of its file or dump, after it was rewritten as docs/personal-data.md says.
   */
  kept(): Promise<ReadonlyMap<string, Uint8Array>>;
}

/**
 * Tests that after any history, nothing that an engine keeps and no line of its log has anything of an erased eSIM, not even after its events are
 * delivered and imported again. `open` returns an empty inbox with `lane: laneOf`, where there are lanes.
 */
export async function testErasure(
  open: (logger: Logger) => Promise<SearchedInbox>,
  numRuns: number,
): Promise<void> {
  let thrownRuns = 0;
  const property = fc.asyncProperty(history, async (steps) => {
    const lines: unknown[][] = [];
    const log = (...line: unknown[]) => void lines.push(line);
    const logger = loggerTo(log);
    const opened = await open(logger);
    const { inbox, kept } = opened;
    const esims = [plant(), plant(), plant()] as const;
    const [erased, stays] = esims;
    const entries = await play(steps, esims, opened, logger);

    await inbox.put([
      entryOf("stays", stays, { type: "esim.enabled", isValid: true, isImported: true, fillerBytes: 300 }),
    ]);
    await eraseSubject(inbox, erased.reference);
    const ofErased = entries.filter(({ body }) => holds(body, erased.reference));
    for (const each of ofErased) {
      if ((await inbox.get(each)) === undefined) continue; // an operator has deleted it
      await inbox.put([each]);
      await inbox.rerun?.([
        { ...each, replay: { run: "again", rebuilt: true, delivery: { note: erased.holder } } },
      ]);
    }
    const places = await kept();
    const placesWith = (text: string) =>
      [...places].filter(([, bytes]) => holds(bytes, text)).map(([name]) => name);
    expect(Object.values(erased).flatMap(placesWith)).toEqual([]);
    expect(placesWith(stays.reference)).not.toEqual([]);
    expect(placesWith(stays.holder)).not.toEqual([]);
    const logged = Buffer.from(lines.map((line) => line.map(textOf).join(" ")).join("\n"));
    for (const { reference, holder, thrown } of esims) {
      expect([reference, holder].filter((text) => holds(logged, text))).toEqual([]);
      if (holds(logged, thrown)) thrownRuns += 1;
    }
  });
  await fc.assert(property, { numRuns, seed: 30, endOnFailure: true });
  expect(thrownRuns).toBeGreaterThan(0); // the lines of workers were searched
}

function plant(): Planted {
  const text = (name: string) => `${name}_${randomBytes(12).toString("hex")}`;
  return { reference: text("esim"), holder: text("holder"), thrown: text("thrown") };
}

/** The lane of an entry of this test: its eSIM. */
export function laneOf({ data }: { readonly data: unknown }): string {
  return (data as { readonly esimReference: string }).esimReference;
}

function entryOf(
  id: string,
  { reference, holder, thrown }: Planted,
  { type, isValid, isImported, fillerBytes }: Omit<Extract<Step, { readonly do: "put" }>, "do" | "esim">,
): InboxEntry {
  const filler = randomBytes(fillerBytes / 2).toString("hex"); // a text that Postgres cannot compress, so that a search finds what is in it
  const made = entry(id, { type, esim: reference, data: { filler, holder, thrown } });
  const replay = { run: "a", rebuilt: true, delivery: { note: `about ${holder}` } };
  return {
    ...made,
    ...(!isValid && { event: null }),
    trace: `trace of ${reference}`,
    ...(isImported && { replay }),
  };
}

/** Resolves to all entries that were stored. */
async function play(
  steps: readonly Step[],
  esims: readonly Planted[],
  { inbox, work, lease }: SearchedInbox,
  logger: Logger,
): Promise<readonly InboxEntry[]> {
  const entries: InboxEntry[] = [];
  const at = (place: number) => esims[place] as Planted;
  const of = (place: number) => entries.filter(({ body }) => holds(body, at(place).reference));
  for (const [number, step] of steps.entries()) {
    if (step.do === "put") {
      const made = entryOf(`msg_${number}`, at(step.esim), step);
      entries.push(made);
      await inbox.put([made]);
    } else if (step.do === "settle") {
      const taken = (await inbox.take?.({ limit: 3, leaseMs: 600_000 })) ?? [];
      const { as } = step;
      if (as === "leased") await lease?.();
      else await inbox.settle?.(taken.map((one) => settlementOf(one, as)));
    } else if (step.do === "redeliver") await inbox.put(of(step.esim));
    else if (step.do === "rerun") {
      const replay = { run: `run ${number}`, rebuilt: true, delivery: { note: at(step.esim).holder } };
      await inbox.rerun?.(of(step.esim).map((each) => ({ ...each, replay })));
    } else if (step.do === "erase") await eraseSubject(inbox, at(step.esim).reference);
    else if (step.do === "work") await work(handlers, logger);
    else if (step.do === "pause") {
      const isWhole = inbox.capabilities.pauses === "all";
      await inbox.pause({ ...(!isWhole && { types: ["esim.enabled"] }), reason: "test" });
    } else if (step.do === "resume") await inbox.resume();
    else await inbox[step.do]({}, 1);
  }
  return entries;
}

const handlers: Handlers<EsimEvents> = {
  "esim.enabled": () => {},
  "esim.faulted": ({ data }) => {
    throw new Error(`no SIM for ${(data as unknown as Planted).thrown}`);
  },
  "esim.disabled": (_event, context) => context.retryLater(3_600_000),
};

function settlementOf(one: TakenEvent, state: SettledAs): Settlement {
  const error = `Error: no SIM for ${Buffer.from(one.body).toString().slice(-80)}`;
  const report = { reason: "failed", durationMs: 7, error, worker: "host:1:a" } as const;
  if (state === "dead") return { ...one, state, error, report };
  if (state === "retry") return { ...one, state, afterMs: 3_600_000, error, report };
  return { ...one, state };
}

/** Runs core's worker until a take finds no event. Failed events are tried again immediately, once. */
export async function workUntilIdle(
  inbox: Inbox,
  handlers: Handlers<EsimEvents>,
  logger: Logger,
): Promise<void> {
  const stop = new AbortController();
  const watched: Inbox = {
    ...inbox,
    async take(options) {
      const taken = await inbox.take(options);
      if (taken.length === 0 && !options.suspects) stop.abort();
      return taken;
    },
  };
  await createWorker(watched, handlers, { logger, maxAttempts: 2, backoff: () => 0, pollMs: 10 }).run({
    signal: stop.signal,
  });
}

/** Whether bytes contain a text, as it is or as hexadecimal digits or base64, as dumps and jobs have bodies. */
function holds(bytes: Uint8Array, text: string): boolean {
  const inBase64 = ["", " ", "  "].map((start) => {
    const whole = Buffer.from(start + text).toString("base64");
    return whole.slice(Math.ceil((start.length * 8) / 6), Math.floor(((start + text).length * 8) / 6));
  });
  return [text, Buffer.from(text).toString("hex"), ...inBase64].some((form) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(form),
  );
}

function textOf(logged: unknown): string {
  if (logged instanceof Error) return `${logged.stack} ${textOf({ ...logged })} ${textOf(logged.cause)}`;
  if (typeof logged !== "object" || logged === null) return String(logged);
  return Object.entries(logged)
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(", ");
}
