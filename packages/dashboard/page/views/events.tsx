import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Filter, Session } from "../../src/contract.ts";
import type { EventPage, EventRow, Gauges } from "../../src/views.ts";
import { sayFailure } from "../ask.tsx";
import { askForAll, askToGiveUp, type Target } from "../bulk.tsx";
import { call } from "../call.ts";
import { closeMenu } from "../keyboard.ts";
import { type Loaded, useCall, usePolled } from "../live.ts";
import { esimAt, eventAt, eventsAt, filterOf, go, states } from "../route.ts";
import {
  Empty,
  exactTime,
  gaugeOf,
  Heading,
  number,
  plural,
  RowLink,
  Stale,
  type State,
  StateIcon,
  StateLabel,
  stateNames,
  Time,
  TypeName,
  type ViewProps,
} from "../shown.tsx";

export function EventsView({ session, query, gauges }: ViewProps) {
  const filter = filterOf(query);
  const cursor = query.get("cursor") ?? undefined;
  const input = { filter, ...(cursor !== undefined && { cursor }) };
  const loaded = useCall("list", input, 5000);
  const { state: _, ...rest } = filter;
  const isOnlyState = Object.keys(rest).length === 0;
  const countsKey = `counts ${JSON.stringify(rest)}`;
  const counted = usePolled<Counts>(countsKey, isOnlyState ? 15_000 : 5000, () =>
    filterCounts(rest, isOnlyState ? ["done"] : states),
  );
  const ofFilter = counted.key === countsKey ? counted.data : undefined;
  const counts = isOnlyState ? gauges.data && { ...ofFilter, ...gaugeCounts(gauges.data) } : ofFilter;
  const count = filter.state === undefined ? undefined : counts?.[filter.state];
  const { rows, key, newCount, show } = useHeld(loaded);
  const isOfFilter = key === JSON.stringify(["list", input]);
  const { state } = filter;
  const isChangeable = state === "dead" || state === "unhandled" || state === "ready";
  const canChange = session.role === "operator" && isChangeable;
  const chosen = useSignal<Choice>({ of: "", names: new Set() });
  const list = eventsAt(filter, cursor);
  const names = canChange && chosen.value.of === list ? chosen.value.names : new Set<string>();
  const chosenRows = rows?.filter((row) => names.has(nameOf(row)) && !row.hasLeft) ?? [];
  // rendered only when the filter changes: otherwise what is being typed would be lost
  const filters = useMemo(() => <Filters filter={filter} session={session} />, [eventsAt(filter), session]);
  return (
    <>
      <Heading
        aside={
          canChange && (
            <BulkActions
              target={{ filter, session, rows: chosenRows }}
              canStart={isOfFilter && counts !== undefined && count !== "0"}
            />
          )
        }
      >
        Events
      </Heading>
      <StateTabs filter={filter} counts={counts} />
      {filters}
      <Stale of={loaded.failure === undefined ? gauges : loaded} />
      {newCount > 0 && cursor === undefined && (
        <button type="button" class="new-events" onClick={show}>
          Show {newCount >= pageRows ? "50 or more new events" : plural(newCount, "new event")}
        </button>
      )}
      <div class="rows" aria-busy={!isOfFilter}>
        {rows !== undefined && rows.length > 0 && (
          <Rows
            rows={rows}
            hasDied={state === "dead"}
            chosen={canChange ? names : undefined}
            choose={(next) => {
              chosen.value = { of: list, names: next };
            }}
          />
        )}
        {rows?.length === 0 && loaded.data?.nextCursor === null && <NoRows filter={filter} cursor={cursor} />}
        {loaded.data !== undefined && (
          <Paging page={loaded.data} at={(next) => eventsAt(filter, next)} cursor={cursor} />
        )}
      </div>
    </>
  );
}

/** How many rows a full page has. */
const pageRows = 50;

interface Held {
  readonly key: string | undefined;
  readonly actions: number | undefined;
  readonly rows: readonly HeldRow[];
}

interface HeldRow extends EventRow {
  /** Present if the row no longer matches the filter. */
  readonly hasLeft?: boolean;
}

const nameOf = ({ source, id }: EventRow) => `${id} ${source}`;

/** Rows as they were first read, each brought up to date in its place: a list does not move under its reader. */
export function useHeld({ data, key, actions: seen }: Loaded<EventPage>): {
  readonly rows: readonly HeldRow[] | undefined;
  /** The key of the list that has the rows. */
  readonly key: string | undefined;
  readonly newCount: number;
  readonly show: () => void;
} {
  const held: Signal<Held | undefined> = useSignal<Held>();
  const show = () => {
    if (data !== undefined) held.value = { key, actions: seen, rows: data.rows };
  };
  useEffect(() => {
    const last = held.peek();
    if (data === undefined) return;
    if (last === undefined || last.key !== key || last.actions !== seen || last.rows.length === 0) show();
    else held.value = { ...last, rows: updated(last.rows, data) };
  }, [data]);
  const shown = new Set(held.value?.rows.map(nameOf));
  const isSameList = held.value !== undefined && held.value.key === key;
  const newCount = isSameList ? (data?.rows.filter((row) => !shown.has(nameOf(row))).length ?? 0) : 0;
  return { rows: held.value?.rows, key: held.value?.key, newCount, show };
}

function updated(rows: readonly HeldRow[], { rows: latest, nextCursor }: EventPage): HeldRow[] {
  const byName = new Map(latest.map((row) => [nameOf(row), row]));
  const oldest = latest.at(-1)?.receivedAt ?? "";
  return rows.map((row) => {
    const now = byName.get(nameOf(row));
    if (now !== undefined) return now;
    // an older one may only have been moved to the next page
    const hasLeft = nextCursor === null || (row.receivedAt ?? "") > oldest;
    return hasLeft ? { ...row, hasLeft } : row;
  });
}

/** The states, each with its number of events: without a filter from the gauges, which lack the done ones; with a filter they are counted. */
function StateTabs({ filter, counts }: { readonly filter: Filter; readonly counts: Counts | undefined }) {
  const { state: _, ...rest } = filter;
  const tab = (state: State | undefined, name: string) => (
    <a
      key={name}
      href={eventsAt({ ...rest, ...(state !== undefined && { state }) })}
      aria-current={filter.state === state ? "page" : undefined}
    >
      {state !== undefined && <StateIcon state={state} />}
      {name}
      {state !== undefined && counts?.[state] !== undefined && <span class="count">{counts[state]}</span>}
    </a>
  );
  return (
    <nav class="tabs" aria-label="States">
      {tab(undefined, "All")}
      {states.map((state) => tab(state, stateNames[state]))}
    </nav>
  );
}

type Counts = Readonly<Partial<Record<State, string>>>;

function gaugeCounts(gauges: Gauges): Counts {
  const text = (state: Exclude<State, "done">) => {
    const { count, isMore } = gaugeOf(gauges, state);
    return `${number(count)}${isMore ? "+" : ""}`;
  };
  return { ready: text("ready"), leased: text("leased"), unhandled: text("unhandled"), dead: text("dead") };
}

/** One after the other: five counts of a large inbox are not asked for concurrently. */
async function filterCounts(filter: Filter, of: readonly State[]): Promise<Counts> {
  const texts: Partial<Record<State, string>> = {};
  for (const state of of) {
    const { count, isMore } = await call("count", { filter: { ...filter, state } });
    texts[state] = `${number(count)}${isMore ? "+" : ""}`;
  }
  return texts;
}

interface BulkProps {
  readonly target: Target;
  readonly canStart: boolean;
}

function BulkActions({ target, canStart }: BulkProps) {
  const { filter, session, rows } = target;
  const which = rows.length === 0 ? "all" : number(rows.length);
  const action = (text: string, ask: () => Promise<void>, kind = "") => (
    <button
      type="button"
      class={`button ${kind}`}
      disabled={!canStart}
      onClick={() => void ask().catch(sayFailure)}
    >
      {text}…
    </button>
  );
  return (
    <>
      {filter.state === "dead" && action(`Delete ${which}`, () => askForAll("discard", target))}
      {filter.state === "ready" && session.givesUp && action(`Give up ${which}`, () => askToGiveUp(target))}
      {action(
        filter.state === "ready" ? `Run ${which} now` : `Retry ${which}`,
        () => askForAll("retry", target),
        "primary",
      )}
    </>
  );
}

function Filters({ filter, session }: { readonly filter: Filter; readonly session: Session }) {
  const { missingFilters: missing } = session;
  const set: MenuProps["set"] = (change) => {
    const changed = Object.entries({ ...filter, ...change }).filter(([, value]) => value !== undefined);
    go(eventsAt(Object.fromEntries(changed)));
  };
  const text = (name: "idPrefix" | "subject" | "source" | "error", label: string, placeholder: string) => (
    <label class="filter" title={missing[name]}>
      <span>{label}</span>
      <input
        name={name}
        value={filter[name] ?? ""}
        placeholder={missing[name] === undefined ? placeholder : "not available"}
        disabled={missing[name] !== undefined}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        onChange={({ currentTarget: { value } }) => set({ [name]: value.trim() || undefined })}
      />
    </label>
  );
  const isFiltered = Object.keys(filter).some((name) => name !== "state");
  const reasons = [...new Set(Object.values(missing))];
  return (
    <search>
      <form
        class="filters"
        aria-label="Filters"
        onSubmit={(event) => {
          event.preventDefault();
          (document.activeElement as HTMLElement | null)?.blur();
        }}
      >
        {text("idPrefix", "Id begins with", "msg_… ( / )")}
        <Types filter={filter} session={session} set={set} />
        <Received filter={filter} missing={missing.since} set={set} />
        {text("error", "Error contains", "text")}
        {text("subject", "eSIM", "reference")}
        {text("source", "Source", "name")}
        {isFiltered && (
          <a
            class="button small clear"
            href={eventsAt(filter.state === undefined ? {} : { state: filter.state })}
          >
            Clear
          </a>
        )}
        {filter.cause !== undefined && (
          <div class="cause-chip">
            <span>
              Cause: <bdi>{filter.cause}</bdi>
            </span>
            <button type="button" class="button small" onClick={() => set({ cause: undefined })}>
              Remove the cause
            </button>
          </div>
        )}
        {reasons.length > 0 && <p class="filters-missing">{reasons.join(" ")}</p>}
      </form>
    </search>
  );
}

interface MenuProps {
  readonly filter: Filter;
  readonly set: (change: { readonly [Name in keyof Filter]?: Filter[Name] | undefined }) => void;
}

function Types({ filter, session, set }: MenuProps & { readonly session: Session }) {
  const chosen = filter.types ?? [];
  const missing = session.missingFilters.types;
  const offered = [...new Set([...session.types, ...chosen])].sort();
  const [only] = chosen;
  const shown = only === undefined ? "any" : chosen.length === 1 ? only : `${chosen.length} types`;
  if (missing !== undefined) return <MissingMenu name="Type" reason={missing} />;
  return (
    <details class="menu">
      <summary>
        <span>Type</span>
        <bdi class="menu-value">{shown}</bdi>
      </summary>
      <fieldset class="menu-list">
        <legend class="hidden">Types</legend>
        {offered.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              name="type"
              value={type}
              checked={chosen.includes(type)}
              onChange={({ currentTarget: { checked } }) => {
                const types = checked ? [...chosen, type] : chosen.filter((each) => each !== type);
                set({ types: types.length === 0 ? undefined : types });
              }}
            />
            <bdi>{type}</bdi>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function MissingMenu({ name, reason }: { readonly name: string; readonly reason: string }) {
  return (
    <label class="filter" title={reason}>
      <span>{name}</span>
      <input disabled placeholder="not available" />
    </label>
  );
}

const hourMs = 3_600_000;

function midnight(daysAgo: number): string {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - daysAgo);
  return day.toISOString();
}

const ranges: readonly (readonly [name: string, since: () => string | undefined])[] = [
  ["Any time", () => undefined],
  ["Last hour", () => new Date(Date.now() - hourMs).toISOString()],
  ["Today", () => midnight(0)],
  ["Since yesterday", () => midnight(1)],
  ["Last 7 days", () => midnight(7)],
];

const toInput = (iso: string | undefined) =>
  iso === undefined ? "" : exactTime(iso).slice(0, 16).replace(" ", "T");
const ofInput = (value: string) => (value === "" ? undefined : new Date(value).toISOString());

function Received({ filter, missing, set }: MenuProps & { readonly missing: string | undefined }) {
  const { since, until } = filter;
  const from = since && `since ${exactTime(since).slice(5, 16)}`;
  const to = until && `before ${exactTime(until).slice(5, 16)}`;
  if (missing !== undefined) return <MissingMenu name="Received" reason={missing} />;
  return (
    <details class="menu">
      <summary>
        <span>Received</span>
        <span class="menu-value">{[from, to].filter(Boolean).join(", ") || "any time"}</span>
      </summary>
      <div class="menu-list">
        {ranges.map(([name, start]) => (
          <button
            key={name}
            type="button"
            onClick={({ currentTarget }) => {
              closeMenu(currentTarget);
              set({ since: start(), until: undefined });
            }}
          >
            {name}
          </button>
        ))}
        <label class="field">
          From
          <input
            type="datetime-local"
            value={toInput(since)}
            onChange={({ currentTarget: { value } }) => set({ since: ofInput(value) })}
          />
        </label>
        <label class="field">
          Before
          <input
            type="datetime-local"
            value={toInput(until)}
            onChange={({ currentTarget: { value } }) => set({ until: ofInput(value) })}
          />
        </label>
      </div>
    </details>
  );
}

/** Rows that are chosen for an action. */
interface Choice {
  /** The address of the list that has the rows: another list begins without a choice. */
  readonly of: string;
  readonly names: ReadonlySet<string>;
}

interface RowsProps {
  readonly rows: readonly HeldRow[];
  readonly hasDied: boolean;
  /** Undefined: no row can be chosen. */
  readonly chosen: ReadonlySet<string> | undefined;
  readonly choose: (names: ReadonlySet<string>) => void;
}

function Rows({ rows, hasDied, chosen, choose }: RowsProps) {
  const box = (label: string, names: readonly string[], checked: boolean) => (
    <input
      type="checkbox"
      aria-label={label}
      checked={checked}
      onChange={() => {
        const others = [...(chosen ?? [])].filter((name) => !names.includes(name));
        choose(new Set(checked ? others : [...others, ...names]));
      }}
    />
  );
  const names = rows.map(nameOf);
  return (
    <table class={`events${hasDied ? " of-dead" : ""}${chosen === undefined ? "" : " choosable"}`}>
      <thead>
        <tr>
          {chosen !== undefined && (
            <th class="col-choice">
              {box(
                "Choose all of this page",
                names,
                names.every((name) => chosen.has(name)),
              )}
            </th>
          )}
          <th class="col-state">State</th>
          <th class="col-type">Type</th>
          <th class="col-id">Id</th>
          <th class="col-esim">eSIM</th>
          <th class="col-error">Error</th>
          <th class="col-attempts number">Attempts</th>
          <th class="col-time number">Received</th>
          {hasDied && <th class="col-time number wide">Died</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={nameOf(row)}
            class={row.hasLeft ? "has-left" : row.heldBack === "paused" ? "is-paused" : undefined}
          >
            {chosen !== undefined && (
              <td class="col-choice">{box(`Choose ${row.id}`, [nameOf(row)], chosen.has(nameOf(row)))}</td>
            )}
            <td class="col-state">
              {row.hasLeft ? <span class="quiet">no longer here</span> : <StateLabel of={row} />}
            </td>
            <td class="col-type">
              <RowLink href={eventAt(row)} title={hintOf(row)}>
                <TypeName type={row.type} />
              </RowLink>
              <bdi class="narrow code">{row.id}</bdi>
              {row.error !== null && <bdi class="narrow">{row.error}</bdi>}
            </td>
            <td class="col-id code">
              <bdi>{row.id}</bdi>
              {row.source !== "default" && (
                <span class="tag" title={`Source: ${row.source}`}>
                  <bdi>{row.source}</bdi>
                </span>
              )}
              {row.conflicts > 0 && (
                <span class="tag" title="The same id arrived with another body">
                  {plural(row.conflicts, "conflict")}
                </span>
              )}
              {row.run !== null && (
                <span class="tag" title={`Stored by ${row.run}`}>
                  recovered
                </span>
              )}
            </td>
            <td class="col-esim">{row.subject !== null && <EsimLink subject={row.subject} />}</td>
            <td class="col-error">
              <bdi>{row.error}</bdi>
            </td>
            <td class="col-attempts number">{row.attempts}</td>
            <td class="col-time number">
              <Time at={row.receivedAt} none="inline" />
            </td>
            {hasDied && (
              <td class="col-time number wide">
                <Time at={row.state === "dead" ? row.settledAt : null} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const shownEnd = 8;

/** Shows an eSIM by the end of its reference: the beginnings are alike. */
function EsimLink({ subject }: { readonly subject: string }) {
  return (
    <a class="code" href={esimAt(subject)} title={subject}>
      <bdi>{subject.length > shownEnd + 1 ? `…${subject.slice(-shownEnd)}` : subject}</bdi>
    </a>
  );
}

/** The texts for which a row may have no room. The link covers the row, so they are the title of the link. */
function hintOf({ id, receivedAt, error }: HeldRow): string {
  return [id, receivedAt && `received ${exactTime(receivedAt)}`, error].filter(Boolean).join("\n");
}

function NoRows({ filter, cursor }: { readonly filter: Filter; readonly cursor: string | undefined }) {
  if (Object.keys(filter).length === 0 && cursor === undefined)
    return <Empty title="The inbox is empty">Events appear here when the first delivery arrives.</Empty>;
  const { state, ...rest } = filter;
  const names = `${state === undefined ? "" : `${stateNames[state].toLowerCase()} `}events`;
  return (
    <Empty title={`No ${cursor === undefined ? "" : "older "}${names} match`}>
      {Object.keys(rest).length === 0 ? (
        <a href={eventsAt({})}>Show events in all states</a>
      ) : state === undefined ? (
        <a href={eventsAt({})}>Clear the filters</a>
      ) : (
        <>
          <a href={eventsAt(rest)}>Show those in all states</a>, or{" "}
          <a href={eventsAt({ state })}>clear the other filters</a>
        </>
      )}
    </Empty>
  );
}

/** The links to other pages of a list, and how far the search has come if not to the end. */
export function Paging(props: {
  readonly page: EventPage;
  /** The address of a page. */
  readonly at: (cursor?: string) => string;
  readonly cursor: string | undefined;
}) {
  const { nextCursor, searchedTo, rows } = props.page;
  const isCut = nextCursor !== null && searchedTo !== null && rows.length < pageRows;
  return (
    <>
      {isCut && rows.length === 0 && <Empty title="No event found yet">The search has not ended.</Empty>}
      <nav class="paging" aria-label="Pages">
        {isCut && (
          <span class="quiet">
            To stay fast, the search stopped at events received {exactTime(searchedTo).slice(0, 16)}.
          </span>
        )}
        {props.cursor !== undefined && (
          <>
            <a class="button" href={props.at()}>
              Newest
            </a>
            <button type="button" class="button" onClick={() => history.back()}>
              Back
            </button>
          </>
        )}
        {nextCursor !== null && (
          <a class="button" href={props.at(nextCursor)}>
            {isCut ? "Search further back" : "Older"}
          </a>
        )}
      </nav>
    </>
  );
}
