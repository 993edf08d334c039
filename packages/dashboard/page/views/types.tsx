import type { Gauges, PauseView, TypeCounts, TypesView as Types } from "../../src/contract.ts";
import { askToPause, askToResume } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { call } from "../call.ts";
import { useCall, usePolled } from "../live.ts";
import { states } from "../route.ts";
import {
  gaugeOf,
  Heading,
  number,
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
  const pauses = [allPaused, ...(data?.types.map(({ pause }) => pause) ?? [])].filter(
    (pause) => pause !== null,
  );
  const canPause = session.role === "operator";
  const isCut = states.some((state) => counted.data?.more.has(state));
  return (
    <>
      <Heading>Types</Heading>
      <Stale of={loaded.failure === undefined ? counted : loaded} />
      {allPaused !== null && (
        <p class="waits">
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
                <th class="number wide">Last</th>
                {canPause && (
                  <th>
                    <span class="hidden">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rowsOf(data, counted.data).map(({ type, pause, counts, lastAt }) => (
                <tr key={type}>
                  <td>
                    {type === null ? (
                      <TypeName type={null} />
                    ) : (
                      <a data-row href={typeAt(type)}>
                        <TypeName type={type} />
                      </a>
                    )}
                    {pause !== null && (
                      <div class="note">
                        paused <Time at={pause.since} />: <bdi>{pause.reason}</bdi>
                      </div>
                    )}
                  </td>
                  {states.map((state) => (
                    <td key={state} class="number">
                      <TypeCount
                        type={type}
                        state={state}
                        count={counts[state] ?? 0}
                        isMore={counted.data?.more.has(state) === true}
                      />
                    </td>
                  ))}
                  <td class="number wide">
                    <Time at={lastAt} />
                  </td>
                  {canPause && (
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
              ))}
            </tbody>
          </table>
        </>
      )}
    </>
  );
}

interface Counted {
  /** Of each page. */
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
}

/** Those with the most events first. */
function rowsOf({ types }: Types, { found }: Counted): readonly Row[] {
  const rows = new Map<string | null, Row>();
  for (const [state, counts] of found)
    for (const { type, count, lastAt } of counts) {
      const row = rows.get(type) ?? { type, pause: null, counts: {}, lastAt };
      rows.set(type, row);
      row.counts[state] = (row.counts[state] ?? 0) + count;
      if ((lastAt ?? "") > (row.lastAt ?? "")) row.lastAt = lastAt;
    }
  for (const { type, pause } of types)
    rows.set(type, { counts: {}, lastAt: null, ...rows.get(type), type, pause });
  const total = ({ counts }: Row) => Object.values(counts).reduce((sum, count) => sum + count, 0);
  return [...rows.values()].sort((a, b) => total(b) - total(a));
}

function TypeCount(props: {
  readonly type: string | null;
  readonly state: State;
  readonly count: number;
  readonly isMore: boolean;
}) {
  const { type, state, count, isMore } = props;
  const text = `${number(count)}${isMore ? "+" : ""}`;
  if (type === null || (count === 0 && !isMore)) return <span class="quiet">{text}</span>;
  return (
    <a class={count === 0 ? "quiet" : `state-${state}`} href={typeAt(type, state)}>
      {text}
    </a>
  );
}
