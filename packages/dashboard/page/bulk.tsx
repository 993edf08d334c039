import type { Counted, Filter, RetriedEvents, Round, Session } from "../src/contract.ts";
import type { EventName, Now } from "../src/views.ts";
import { ask, type Said, say, type Working } from "./ask.tsx";
import { call } from "./call.ts";
import { Obstacles, obstacles, watch } from "./retried.tsx";
import { eventsAt } from "./route.ts";
import { exactTime, number, plural } from "./shown.tsx";

/** The events that an action is for. */
export interface Target {
  readonly filter: Filter;
  /** Only these of the events that match. Empty: all. */
  readonly rows: readonly EventName[];
  readonly session: Session;
}

/** How far the server counts, and how many retried events are watched. */
export const mostCounted = 10_000;
/** The events of a round. After each round, an action says how far it is, and can be stopped. */
const roundEvents = 2000;

export function countText({ count, isMore }: Pick<Counted, "count" | "isMore">): string {
  return isMore ? `more than ${number(count)} events` : plural(count, "event");
}

/** The filters that select a target: one of each source, where rows were chosen. */
function filtersOf({ filter, rows }: Target): readonly Filter[] {
  if (rows.length === 0) return [filter];
  const bySource = Map.groupBy(rows, ({ source }) => source);
  const state = filter.state === undefined ? {} : { state: filter.state };
  return [...bySource].map(([source, chosen]) => ({ ...state, source, ids: chosen.map(({ id }) => id) }));
}

async function countAll(filters: readonly Filter[], more: Filter): Promise<Counted> {
  const counted: Counted[] = [];
  for (const filter of filters) counted.push(await call("count", { filter: { ...filter, ...more } }));
  const count = counted.reduce((sum, each) => sum + each.count, 0);
  return { count, isMore: counted.some(({ isMore }) => isMore), searchedTo: null };
}

interface RoundInput {
  readonly filter: Filter;
  readonly most: number;
  readonly cursor?: string;
}

/**
 * Makes rounds of an action until nothing that matches is left, as many events as were confirmed are changed, or it is stopped. Called again after
 * a failure, it continues.
 */
function rounds(filters: readonly Filter[], { count, isMore }: Counted, { continues }: Session) {
  const left = [...filters];
  const most = isMore && continues ? Number.POSITIVE_INFINITY : count;
  const ofRound = continues ? roundEvents : mostCounted;
  let done = 0;
  let cursor: string | null = null;
  return async (
    { progress, isStopped }: Working,
    act: (input: RoundInput) => Promise<Round>,
  ): Promise<{ readonly done: number; readonly wasStopped: boolean }> => {
    for (let [filter] = left; filter !== undefined && done < most; [filter] = left) {
      if (isStopped.value) return { done, wasStopped: true };
      const input = { filter, most: Math.min(ofRound, most - done) };
      const round = await act(cursor === null ? input : { ...input, cursor });
      done += round.done;
      cursor = round.nextCursor;
      if (cursor === null) left.shift();
      progress.value = `${plural(done, "event")} so far.`;
    }
    return { done, wasStopped: false };
  };
}

/** Says what became of the events that were confirmed. */
function saidOf(
  verb: string,
  { done, wasStopped }: { readonly done: number; readonly wasStopped: boolean },
  { count, isMore }: Counted,
  state: string,
): Said {
  if (wasStopped)
    return {
      text: `${verb} ${plural(done, "event")}, then stopped: the rest is as it was.`,
      isPartial: true,
    };
  const missed = isMore ? 0 : count - done;
  if (missed <= 0) return { text: `${verb} ${plural(done, "event")}.` };
  const [was, has] = missed === 1 ? ["was", "has"] : ["were", "have"];
  const why = verb === "Retried" ? `, or ${has} no body any more` : "";
  const rest = `${number(missed)} ${was} no longer ${state}${why}.`;
  return { text: `${verb} ${number(done)} of ${plural(count, "event")}. ${rest}`, isPartial: true };
}

/** The types of a cause, so that its events are found when they have lost their error. */
function typesOf({ deadCauses }: Now, cause: string | undefined): Pick<Filter, "types"> {
  const types = deadCauses.find(({ error }) => error === cause)?.types ?? [];
  const named = types.filter((type) => type !== null);
  return named.length > 0 && named.length === types.length ? { types: named } : {};
}

function FilterShown({ filter }: { readonly filter: Filter }) {
  const { types, ids: _, dueLater: __, ...texts } = filter;
  const names: Readonly<Record<string, string>> = {
    state: "State",
    source: "Source",
    subject: "eSIM",
    idPrefix: "Id begins with",
    error: "Error contains",
    cause: "Cause",
    since: "Received since",
    until: "Received before",
  };
  return (
    <dl class="facts">
      {types !== undefined && (
        <div>
          <dt>Type</dt>
          <dd>{types.join(", ")}</dd>
        </div>
      )}
      {Object.entries(texts).map(([name, text]) => (
        <div key={name}>
          <dt>{names[name]}</dt>
          <dd>
            <bdi>{name === "since" || name === "until" ? exactTime(text).slice(0, 16) : text}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows which events a question is about. */
function Chosen({ target, counted }: { readonly target: Target; readonly counted: Counted }) {
  const { filter, rows, session } = target;
  return (
    <>
      {counted.isMore && (
        <p>
          {session.continues
            ? "It continues until no older event matches, or you stop it."
            : `It does ${number(counted.count)} of them. Do it again for the rest.`}
        </p>
      )}
      {rows.length === 0 && <FilterShown filter={filter} />}
    </>
  );
}

function isNone({ count, isMore }: Counted): boolean {
  return count === 0 && !isMore;
}

function sayNothingLeft(state: string, what: string): void {
  say({ text: `No event that matches is ${state} any more: there is nothing to ${what}.`, isPartial: true });
}

/** The text of a button: `Retry 3`, or `Retry all` if there are more events than were counted. */
function confirmText(verb: string, { count, isMore }: Counted, { continues }: Session): string {
  return `${verb} ${isMore && continues ? "all" : number(count)}`;
}

/** Retries or deletes events, as many as were counted when it was asked, or all. With the state `ready`, events that are due later become due now. */
export async function askForAll(action: "retry" | "discard", target: Target): Promise<void> {
  const { filter, session } = target;
  const isWaiting = filter.state === "ready";
  const filters = filtersOf(target);
  const counted = await countAll(filters, isWaiting ? { dueLater: true } : {});
  const { state: chosen = "dead", error: _, cause: __, ...others } = filter; // without the error, which events lose when they are done
  const state = isWaiting ? "waiting for a later time" : chosen;
  const isRetry = action === "retry";
  const verb = isWaiting ? "Run" : isRetry ? "Retry" : "Delete";
  const when = isWaiting ? " now" : "";
  if (isNone(counted)) return sayNothingLeft(state, isRetry ? "retry" : "delete");
  const now = isRetry ? await call("now", {}) : undefined;
  const watched: Filter = now === undefined ? others : { ...typesOf(now, filter.cause), ...others };
  const holding = now === undefined ? [] : obstacles(now, watched.types);
  const inRounds = rounds(filters, counted, session);
  const events: RetriedEvents[] = [];
  let watchedCount = 0;
  ask({
    title: `${verb} ${countText(counted)}${when}?`,
    confirm: `${confirmText(verb, counted, session)}${when}`,
    ...(!isRetry && { deletes: true }),
    body: (
      <>
        <p>
          {isRetry
            ? `Their handlers run again${whenOf(holding)}. Their tries are counted anew.`
            : "They are deleted with their bodies, and cannot be retried any more."}
        </p>
        <Obstacles of={holding} />
        <Chosen target={target} counted={counted} />
      </>
    ),
    async act(_form, working) {
      if (!isRetry)
        return saidOf("Deleted", await inRounds(working, (round) => call("discard", round)), counted, state);
      const result = await inRounds(working, async (round) => {
        const retried = await call("retry", round);
        if (watchedCount < mostCounted) {
          events.push(...retried.events);
          watchedCount += retried.done;
        }
        return retried;
      });
      watch({ ...result, events, watchedCount, filter: watched });
      return saidOf("Retried", result, counted, state);
    },
  });
}

/** When retried events are handled: not soon, where something holds them. */
export function whenOf(holding: readonly string[]): string {
  return holding.length === 0 ? ", as soon as a worker is free" : ", but not yet";
}

/** Ends events that match and wait as dead, as many as were counted when it was asked, or all. */
export async function askToGiveUp(target: Target): Promise<void> {
  const { session } = target;
  const filters = filtersOf(target);
  const [counted, leased] = await Promise.all([
    countAll(filters, { state: "ready" }),
    countAll(filters, { state: "leased" }),
  ]);
  if (isNone(counted)) return sayNothingLeft("waiting", "give up");
  const inRounds = rounds(filters, counted, session);
  ask({
    title: `Give up ${countText(counted)}?`,
    confirm: confirmText("Give up", counted, session),
    deletes: true,
    body: (
      <>
        <p>They are dead then, with your reason, and can be retried. No handler runs for them until then.</p>
        {leased.count > 0 && <p>{countText(leased)} that a worker handles: left as they are.</p>}
        <Chosen target={target} counted={counted} />
        <label class="field">
          Reason
          <input name="reason" required maxLength={200} placeholder="The eSIM is gone" autocomplete="off" />
        </label>
      </>
    ),
    async act(form, working) {
      const reason = String(form.get("reason"));
      const result = await inRounds(working, (round) => call("giveUp", { ...round, reason }));
      const said = saidOf("Given up:", result, counted, "waiting");
      return { ...said, link: { address: eventsAt({ state: "dead", error: reason }), text: "Show them" } };
    },
  });
}
