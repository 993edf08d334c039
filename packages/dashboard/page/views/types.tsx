import { useSignal } from "@preact/signals";
import type { Session } from "../../src/contract.ts";
import type { Gauges, PauseView, TypeCounts, TypesView as Types } from "../../src/views.ts";
import { askToPause, askToResume } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { call } from "../call.ts";
import { useCall, usePolled } from "../live.ts";
import { states } from "../route.ts";
import {
  gaugeOf,
  Heading,
  number,
  plural,
  Stale,
  type State,
  StateIcon,
  stateNames,
  Time,
  TypeName,
  typeAt,
  type ViewProps,
} from "../shown.tsx";

/** Counting reads up to 10 pages of each state. */
const countEveryMs = 15_000;
const mostPages = 10;

export function TypesView({ session, gauges }: ViewProps) {
  const loaded = useCall("types", {}, 5000);
  const counted = usePolled(
    gauges.data === undefined ? "before the gauges" : "counts",
    countEveryMs,
    async () => gauges.data && countAll(gauges.data),
  );
  const { data } = loaded;
  const allPaused = data?.allPaused ?? null;
  const canPause = session.role === "operator";
  const isCut = states.some((state) => counted.data?.more.has(state));
  return (
    <>
      <Heading>Types</Heading>
      <Stale of={loaded.failure === undefined ? counted : loaded} />
      {allPaused !== null && (
        <p class="waits">
          <StateIcon state="paused" />
          <span>
            All types are paused <Time at={allPaused.since} />: <bdi>{allPaused.reason}</bdi>
          </span>
        </p>
      )}
      {data !== undefined && counted.data !== undefined && (
        <>
          {isCut && (
            <p class="quiet">
              A count with + is of the newest events of its state: older ones were not counted.
            </p>
          )}
          {canPause && session.pausesOnlyAll !== null && <p>{session.pausesOnlyAll}</p>}
          <TypesTable
            rows={rowsOf(data, counted.data)}
            more={counted.data.more}
            allPaused={allPaused}
            session={session}
          />
        </>
      )}
    </>
  );
}

function TypesTable(props: {
  readonly rows: readonly Row[];
  readonly more: Counted["more"];
  readonly allPaused: PauseView | null;
  readonly session: Session;
}) {
  const { rows, more, allPaused, session } = props;
  const isOpen = useSignal(false);
  const canPause = session.role === "operator";
  const pauses = [allPaused, ...rows.map(({ pause }) => pause)].filter((pause) => pause !== null);
  const busy = rows.filter(
    ({ pause, counts, drift }) => pause !== null || drift.length > 0 || Object.keys(counts).length > 0,
  );
  const idleCount = busy.length === 0 ? 0 : rows.length - busy.length;
  const shown = idleCount > 0 && !isOpen.value ? busy : rows;
  return (
    <>
      <table class="types">
        <thead>
          <tr>
            <th>Type</th>
            {states.map((state) => (
              <th key={state} class="number">
                <StateIcon state={state} />
                <span class="wide">{stateNames[state]}</span>
                <span class="hidden narrow-name">{stateNames[state]}</span>
              </th>
            ))}
            <th class="number wide">Last received</th>
            {canPause && (
              <th>
                <span class="hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <TypeRow
              key={row.type}
              row={row}
              more={more}
              session={session}
              pauses={pauses}
              isPaused={row.type !== null && (row.pause ?? allPaused) !== null}
            />
          ))}
        </tbody>
      </table>
      {idleCount > 0 && (
        <button
          type="button"
          class="button small fold"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {isOpen.value ? "Hide" : "Show"} {plural(idleCount, "type")} without{" "}
          {more.size === 0 ? "events" : "counted events"}
        </button>
      )}
    </>
  );
}

function TypeRow(props: {
  readonly row: Row;
  readonly more: Counted["more"];
  readonly session: Session;
  readonly pauses: readonly PauseView[];
  readonly isPaused: boolean;
}) {
  const { row, more, session, pauses, isPaused } = props;
  const { type, pause, counts, lastAt, drift } = row;
  return (
    <tr class={isPaused ? "is-paused" : undefined}>
      <td>
        {type === null ? (
          <TypeName type={null} />
        ) : (
          <a data-row href={typeAt(type)}>
            <TypeName type={type} />
          </a>
        )}
        {isPaused && (
          <div class="note paused-name">
            <StateIcon state="paused" />
            {pause === null ? (
              "Paused, as all types are"
            ) : (
              <span>
                Paused <Time at={pause.since} />: <bdi>{pause.reason}</bdi>
              </span>
            )}
          </div>
        )}
        {drift.map((text) => (
          <div key={text} class="note">
            Drift: <bdi>{text}</bdi>
          </div>
        ))}
      </td>
      {states.map((state) => (
        <td key={state} class="number">
          <TypeCount type={type} state={state} count={counts[state] ?? 0} isMore={more.has(state)} />
        </td>
      ))}
      <td class="number wide">
        <Time at={lastAt} />
      </td>
      {session.role === "operator" && (
        <td class="number">
          {type === null ? null : pause === null ? (
            <button
              type="button"
              class="button small"
              disabled={session.pausesOnlyAll !== null}
              title={session.pausesOnlyAll ?? undefined}
              aria-label={`Pause ${type}`}
              onClick={() => askToPause(type).catch(sayFailure)}
            >
              Pause…
            </button>
          ) : (
            <button
              type="button"
              class="button small"
              aria-label={`Resume ${type}`}
              onClick={() => askToResume(type, pauses)}
            >
              Resume…
            </button>
          )}
        </td>
      )}
    </tr>
  );
}

interface Counted {
  /** The counts of each page, with the state of its events. */
  readonly found: readonly (readonly [State, TypeCounts["counts"]])[];
  /** States of which only the newest events were counted. */
  readonly more: ReadonlySet<State>;
}

/** One state after the other: five counts of a large inbox are not asked for concurrently. */
async function countAll(gauges: Gauges): Promise<Counted> {
  const found: [State, TypeCounts["counts"]][] = [];
  const more = new Set<State>();
  for (const state of states) {
    const all = state === "done" ? null : gaugeOf(gauges, state);
    let left = all === null || all.isMore ? Number.POSITIVE_INFINITY : all.count;
    let cursor: string | null | undefined;
    for (let pages = 0; left > 0 && cursor !== null; pages += 1) {
      if (pages === mostPages) {
        more.add(state);
        break;
      }
      const page = await call("typeCounts", { state, ...(cursor !== undefined && { cursor }) });
      found.push([state, page.counts]);
      left -= page.counts.reduce((sum, { count }) => sum + count, 0);
      cursor = page.nextCursor;
    }
  }
  return { found, more };
}

interface Row {
  readonly type: string | null;
  readonly pause: PauseView | null;
  readonly counts: Partial<Record<State, number>>;
  lastAt: string | null;
  readonly drift: readonly string[];
}

/** Types that need attention come first: those with the most dead events, then the most unhandled ones, then the most that wait. */
const byAttention = ["dead", "unhandled", "ready", "leased", "done"] as const;

function rowsOf({ types }: Types, { found }: Counted): readonly Row[] {
  const rows = new Map<string | null, Row>();
  for (const [state, counts] of found)
    for (const { type, count, lastAt } of counts) {
      const row = rows.get(type) ?? { type, pause: null, counts: {}, lastAt, drift: [] };
      rows.set(type, row);
      row.counts[state] = (row.counts[state] ?? 0) + count;
      if ((lastAt ?? "") > (row.lastAt ?? "")) row.lastAt = lastAt;
    }
  for (const { type, pause, drift } of types)
    rows.set(type, { counts: {}, lastAt: null, ...rows.get(type), type, pause, drift });
  return [...rows.values()].sort((a, b) => {
    const state = byAttention.find((each) => a.counts[each] !== b.counts[each]);
    return state === undefined ? 0 : (b.counts[state] ?? 0) - (a.counts[state] ?? 0);
  });
}

function TypeCount(props: {
  readonly type: string | null;
  readonly state: State;
  readonly count: number;
  readonly isMore: boolean;
}) {
  const { type, state, count, isMore } = props;
  const text = `${number(count)}${isMore ? "+" : ""}`;
  const look = count === 0 ? "quiet" : `state-${state}`;
  if (type === null || (count === 0 && !isMore)) return <span class={look}>{text}</span>;
  return (
    <a class={look} href={typeAt(type, state)}>
      {text}
    </a>
  );
}
