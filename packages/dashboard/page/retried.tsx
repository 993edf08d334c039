import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Failure, Filter, Outcome, Retried } from "../src/contract.ts";
import type { Now } from "../src/views.ts";
import { call, failureOf } from "./call.ts";
import { isLive, useCall } from "./live.ts";
import { eventsAt } from "./route.ts";
import { Bar, number, Problem, sentence, Time } from "./shown.tsx";

/** A retry whose events are watched until each has ended. */
interface Watched {
  /** When it was retried, which is also its key. */
  readonly at: string;
  /** Selects its events among others, in all states. */
  readonly filter: Filter;
  readonly isEstimate: boolean;
  /** How many more were retried. They are not watched. */
  readonly others: number;
  /** How many have ended, by how they ended. */
  readonly ended: Readonly<Record<Ended, number>>;
  /** The events that have not ended. The server keeps no note of them, so any process can answer. */
  readonly left: readonly Left[];
}

interface Left {
  readonly source: string;
  readonly id: string;
  readonly hasFailed: boolean;
}

const ends = ["done", "dead", "unhandled", "gone"] as const;
type Ended = (typeof ends)[number];

const item = `esim-webhooks-dashboard-retried ${location.pathname}`;
/** The newest first. */
const watched = signal<readonly Watched[]>(kept());

/** The retries that the tab has stored, since a new log-in may load the page again. Storage may be blocked. */
function kept(): readonly Watched[] {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(item) ?? "[]");
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

function keep(next: readonly Watched[]): void {
  watched.value = next;
  try {
    sessionStorage.setItem(item, JSON.stringify(next));
  } catch {}
}

const names = ["The last retry", "The second to last retry", "The third to last retry"];

/** The retries that stay when one more is watched: the oldest that has ended makes room first, else the oldest. */
function withRoom(retries: readonly Watched[]): readonly Watched[] {
  if (retries.length < names.length) return retries;
  const leaving = retries.findLast(({ left }) => left.length === 0) ?? retries.at(-1);
  return retries.filter((retry) => retry !== leaving);
}

/** Watches `events` of a retry, next to those of the retries before it. `done`: how many were retried; `watchedCount`: how many of these are watched. */
export function watch({
  done,
  events,
  watchedCount,
  filter,
}: Pick<Retried, "done" | "events"> & { readonly watchedCount: number; readonly filter: Filter }): void {
  const left = events.flatMap(({ source, ids }) => ids.map((id) => ({ source, id, hasFailed: false })));
  if (left.length === 0) return;
  const retry: Watched = {
    at: new Date().toISOString(),
    filter,
    isEstimate: left.length !== watchedCount,
    others: done - watchedCount,
    ended: { done: 0, dead: 0, unhandled: 0, gone: 0 },
    left,
  };
  keep([retry, ...withRoom(watched.peek())]);
}

const everyMs = 2000;
const callsOfRound = 4;
const mostIds = 500;
/** A call may have 64 kB. */
const mostCharacters = 16_000;

/** Asks for some of the events that have not ended: first for those that were asked for longest ago. */
async function look(at: string): Promise<void> {
  for (let calls = 0; calls < callsOfRound; calls += 1) {
    const before = watched.peek().find((retry) => retry.at === at);
    if (before === undefined || before.left.length === 0) return;
    const batch = batchOf(before.left);
    const [{ source } = { source: "" }] = batch;
    const outcomes = await call("progress", { source, ids: batch.map(({ id }) => id) });
    if (!watched.peek().includes(before)) return; // dismissed
    const ended = { ...before.ended };
    const again: Left[] = [];
    for (const [index, event] of batch.entries()) {
      const outcome = outcomes[index] ?? "gone";
      if (isEnd(outcome)) ended[outcome] += 1;
      else again.push({ ...event, hasFailed: outcome === "failed" });
    }
    const after = { ...before, ended, left: [...before.left.slice(batch.length), ...again] };
    keep(watched.peek().map((retry) => (retry === before ? after : retry)));
    if (batch.length === before.left.length) return; // all were asked
  }
}

function isEnd(outcome: Outcome): outcome is Ended {
  return (ends as readonly Outcome[]).includes(outcome);
}

/** The first events, all of one source. */
function batchOf(left: readonly Left[]): readonly Left[] {
  let characters = 0;
  const end = left.findIndex(({ source, id }, index) => {
    characters += id.length + 3;
    return index > 0 && (index === mostIds || source !== left[0]?.source || characters > mostCharacters);
  });
  return end === -1 ? left : left.slice(0, end);
}

/** The obstacles that keep events of these types, or of all types, from being handled, a sentence each. */
export function obstacles({ pauses, workers }: Now, types: readonly string[] | undefined): string[] {
  return [
    ...pauses
      .filter(({ type }) => type === null || types === undefined || types.includes(type))
      .map(({ type, by, reason }) => {
        const what = type === null ? "All types are" : `${type} is`;
        return sentence(`${what} paused${by === null ? "" : ` by ${by}`}: ${reason}`);
      }),
    ...(workers.length === 0 ? ["No worker has reported in the last 30 s."] : []),
  ];
}

export function Obstacles({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((text) => (
        <p key={text} class="note">
          <bdi>{text}</bdi>
        </p>
      ))}
    </>
  );
}

/** The progress of exactly the events of the last retries, on every view. */
export function RetriedLast() {
  return (
    <>
      {watched.value.map((retry, index) => (
        <Progress key={retry.at} retry={retry} name={names[index] ?? ""} />
      ))}
    </>
  );
}

/** Says why retried events still wait. */
function WhyTheyWait({ types }: { readonly types: readonly string[] | undefined }) {
  const { data } = useCall("now", {}, 10_000);
  return data === undefined ? null : <Obstacles of={obstacles(data, types)} />;
}

function Progress({ retry, name }: { readonly retry: Watched; readonly name: string }) {
  const { ended, left, filter, isEstimate, others, at } = retry;
  const failure = useSignal<Failure | null>(null);
  const isWatching = isLive.value && left.length > 0;
  useEffect(() => {
    if (!isWatching) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hasEnded = false;
    async function round(): Promise<void> {
      failure.value = await look(at).then(() => null, failureOf);
      if (!hasEnded) timer = setTimeout(round, everyMs);
    }
    void round();
    return () => {
      hasEnded = true;
      clearTimeout(timer);
    };
  }, [isWatching]);
  const total = ends.reduce((sum, each) => sum + ended[each], left.length);
  const failed = left.filter(({ hasFailed }) => hasFailed).length;
  const parts = [
    `${number(ended.done)} of ${number(total)} done`,
    ...(ended.dead > 0 ? [`${number(ended.dead)} dead again`] : []),
    ...(ended.unhandled > 0 ? [`${number(ended.unhandled)} unhandled`] : []),
    ...(ended.gone > 0 ? [`${number(ended.gone)} no longer in the inbox`] : []),
    ...(left.length > 0 ? [`${number(left.length)} waiting`] : []),
  ];
  const text = parts.join(", ");
  return (
    <section class="panel retried" aria-label={name}>
      <div class="retried-line">
        <strong>{text}</strong>
        <span class="quiet">
          {filter.types !== undefined && (
            <>
              <bdi>{filter.types.join(", ")}</bdi>,{" "}
            </>
          )}
          retried <Time at={at} />
        </span>
        <span class="retried-links">
          {ended.dead > 0 && <a href={eventsAt({ ...filter, state: "dead" })}>Show the dead</a>}
          <a href={eventsAt(filter)}>Show all</a>
          <button
            type="button"
            class="button small"
            onClick={() => keep(watched.peek().filter((each) => each.at !== at))}
          >
            {left.length > 0 ? "Stop watching" : "Dismiss"}
          </button>
        </span>
      </div>
      <Bar parts={{ ...ended, rest: left.length }} />
      {failed > 0 && (
        <p class="note">{number(failed)} of those that wait have failed again, and have another attempt.</p>
      )}
      {left.length > 0 && <WhyTheyWait types={filter.types} />}
      {others > 0 && <p class="note">{number(others)} more were retried, which are not watched.</p>}
      {isEstimate && (
        <p class="note">
          An estimate: another operator or a worker changed some of these events at the same time.
        </p>
      )}
      {failure.value !== null && <Problem failure={failure.value} />}
      <p class="hidden" role="status">
        {left.length === 0 && `All have ended: ${text}.`}
      </p>
    </section>
  );
}
