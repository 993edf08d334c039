import type { Counted, EventName, Filter, Now, PauseView, Session } from "../src/contract.ts";
import { ask, type Said, say } from "./ask.tsx";
import { call } from "./call.ts";
import { Obstacles, obstacles, watch } from "./retried.tsx";
import { esimAt, eventsAt, go } from "./route.ts";
import { exactTime, number, plural, Time } from "./shown.tsx";

function countText({ count, isMore }: Pick<Counted, "count" | "isMore">): string {
  return isMore ? `more than ${number(count)} events` : plural(count, "event");
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** What became of those that were confirmed. */
function saidOf(verb: string, done: number, of: number, state: string): Said {
  const missed = of - done;
  if (missed <= 0) return { text: `${verb} ${plural(done, "event")}.` };
  const [was, has] = missed === 1 ? ["was", "has"] : ["were", "have"];
  const why = verb === "Retried" ? `, or ${has} no body any more` : "";
  const rest = `${number(missed)} ${was} no longer ${state}${why}.`;
  return { text: `${verb} ${number(done)} of ${plural(of, "event")}. ${rest}`, isPartial: true };
}

const mostCounted = 10_000;

/** The types of a cause, so that its events are found when they have lost their error. */
function typesOf({ deadCauses }: Now, cause: string | undefined): Pick<Filter, "types"> {
  const types = deadCauses.find(({ error }) => error === cause)?.types ?? [];
  const named = types.filter((type) => type !== null);
  return named.length > 0 && named.length === types.length ? { types: named } : {};
}

function FilterShown({ filter }: { readonly filter: Filter }) {
  const { types, dueLater: _, ...texts } = filter;
  const names: Readonly<Record<string, string>> = {
    state: "State",
    source: "Source",
    subject: "eSIM",
    id: "Id",
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

/** Retries or deletes all that match, as many as were counted when it was asked. Of ready ones, those that are due later run now. */
export async function askForAll(action: "retry" | "discard", filter: Filter): Promise<void> {
  const isWaiting = filter.state === "ready";
  const counted = await call("count", { filter: isWaiting ? { ...filter, dueLater: true } : filter });
  const { state: chosen = "dead", error: _, cause: __, ...others } = filter; // no error: they lose it when they are done
  const state = isWaiting ? "waiting for a later time" : chosen;
  const most = Math.min(counted.count, mostCounted);
  const isRetry = action === "retry";
  const verb = isWaiting ? "Run" : isRetry ? "Retry" : "Delete";
  const when = isWaiting ? " now" : "";
  if (most === 0) {
    say({
      text: `No event that matches is ${state} any more: there is nothing to ${isRetry ? "retry" : "delete"}.`,
      isPartial: true,
    });
    return;
  }
  const now = isRetry ? await call("now", {}) : undefined;
  const watched: Filter = now === undefined ? others : { ...typesOf(now, filter.cause), ...others };
  const holding = now === undefined ? [] : obstacles(now, watched.types);
  ask({
    title: `${verb} ${countText(counted)}${when}?`,
    confirm: `${verb} ${number(most)}${when}`,
    ...(!isRetry && { deletes: true }),
    body: (
      <>
        <p>
          {isRetry
            ? `Their handlers run again${whenOf(holding)}. Their tries are counted anew.`
            : "They are deleted with their bodies, and cannot be retried any more."}
        </p>
        <Obstacles of={holding} />
        {counted.isMore && <p>It does {number(most)} of them. Do it again for the rest.</p>}
        <FilterShown filter={filter} />
      </>
    ),
    async act() {
      if (!isRetry) return saidOf("Deleted", (await call("discard", { filter, most })).done, most, state);
      const { done, events } = await call("retry", { filter, most });
      watch({ done, events, filter: watched });
      return saidOf("Retried", done, most, state);
    },
  });
}

/** When retried events are handled: not soon, where something holds them. */
function whenOf(holding: readonly string[]): string {
  return holding.length === 0 ? ", as soon as a worker is free" : ", but not yet";
}

/** Ends all that match and wait as dead, as many as were counted when it was asked. */
export async function askToGiveUp(filter: Filter): Promise<void> {
  const ready: Filter = { ...filter, state: "ready" };
  const [counted, leased] = await Promise.all([
    call("count", { filter: ready }),
    call("count", { filter: { ...filter, state: "leased" } }),
  ]);
  const most = Math.min(counted.count, mostCounted);
  if (most === 0) {
    say({ text: "No event that matches waits any more: there is nothing to give up.", isPartial: true });
    return;
  }
  ask({
    title: `Give up ${countText(counted)}?`,
    confirm: `Give up ${number(most)}`,
    deletes: true,
    body: (
      <>
        <p>They are dead then, with your reason, and can be retried. No handler runs for them until then.</p>
        {leased.count > 0 && <p>{countText(leased)} that a worker handles: left as they are.</p>}
        {counted.isMore && <p>It does {number(most)} of them. Do it again for the rest.</p>}
        <FilterShown filter={ready} />
        <label class="field">
          Reason
          <input name="reason" required maxLength={200} placeholder="The eSIM is gone" autocomplete="off" />
        </label>
      </>
    ),
    async act(form) {
      const reason = String(form.get("reason"));
      const { done } = await call("giveUp", { filter: ready, most, reason });
      return saidOf("Given up:", done, most, "waiting");
    },
  });
}

export async function askForOne(
  action: "retry" | "discard",
  { source, id, type }: EventName & { readonly type: string | null },
  state: "dead" | "unhandled" | "ready",
): Promise<void> {
  const isRetry = action === "retry";
  const holding = isRetry ? obstacles(await call("now", {}), type === null ? [] : [type]) : [];
  ask({
    title: state === "ready" ? "Run this event now?" : isRetry ? "Retry this event?" : "Delete this event?",
    confirm: state === "ready" ? "Run now" : isRetry ? "Retry" : "Delete",
    ...(!isRetry && { deletes: true }),
    body: (
      <>
        <p>
          {isRetry
            ? `Its handler runs again${whenOf(holding)}. Its tries are counted anew.`
            : "It is deleted with its body, and cannot be retried any more."}
        </p>
        <Obstacles of={holding} />
      </>
    ),
    async act() {
      const { done } = await call(action, { filter: { state, source, id }, most: 1 });
      if (done === 0)
        return {
          text: `Not ${isRetry ? "retried" : "deleted"}: the event is no longer ${state === "ready" ? "waiting" : state}. Another operator or a worker has changed it, or its body was removed.`,
          isPartial: true,
        };
      if (!isRetry) go(eventsAt({ state }));
      return { text: isRetry ? "Retried the event." : "Deleted the event." };
    },
  });
}

const lengths = [
  ["", "until it is resumed"],
  ["900000", "15 minutes"],
  ["3600000", "1 hour"],
  ["14400000", "4 hours"],
  ["86400000", "1 day"],
] as const;

/** `type` null: all types. */
export async function askToPause(type: string | null): Promise<void> {
  const earlier = (await call("now", {})).pauses.find((pause) => pause.type === type);
  const what = type ?? "all events";
  ask({
    title: earlier === undefined ? `Pause ${what}?` : `Replace the pause of ${what}?`,
    confirm: earlier === undefined ? "Pause" : "Replace",
    body: (
      <>
        {earlier !== undefined && <PauseShown pause={earlier} />}
        <p>Deliveries are still accepted and stored. Workers leave them until the pause ends.</p>
        <label class="field">
          Reason
          <input name="reason" required maxLength={200} placeholder="CRM is down" autocomplete="off" />
        </label>
        <label class="field">
          How long
          <select name="forMs">
            {lengths.map(([ms, text]) => (
              <option key={ms} value={ms}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </>
    ),
    async act(form) {
      const forMs = Number(form.get("forMs"));
      const reason = String(form.get("reason"));
      const replaces = earlier?.since;
      await call("pause", { type, reason, ...(forMs > 0 && { forMs }), ...(replaces && { replaces }) });
      return { text: `Paused ${what}.` };
    },
  });
}

function PauseShown({ pause: { type, reason, since, until, by } }: { readonly pause: PauseView }) {
  return (
    <p class="note">
      <Bold text={type ?? "All types"} />, paused{" "}
      {by !== null && (
        <>
          by <bdi>{by}</bdi>{" "}
        </>
      )}
      <Time at={since} />,{" "}
      {until === null ? (
        "until resumed"
      ) : (
        <>
          ends <Time at={until} />
        </>
      )}
      : <bdi>{reason}</bdi>
    </p>
  );
}

/** `type` null: every pause, also those of single types. `pauses` are all that there are. */
export function askToResume(type: string | null, pauses: readonly PauseView[]): void {
  const ended = type === null ? pauses : pauses.filter((pause) => pause.type === type);
  const isStillPaused = type !== null && pauses.some((pause) => pause.type === null);
  ask({
    title:
      type !== null
        ? `Resume ${type}?`
        : ended.length === 1
          ? "Resume all types?"
          : `End all ${number(ended.length)} pauses?`,
    confirm: "Resume",
    body: (
      <>
        {ended.map((pause) => (
          <PauseShown key={pause.type} pause={pause} />
        ))}
        <p>
          {isStillPaused
            ? "All types are paused as well, so its events keep waiting until that pause ends, too."
            : "Workers take the events that waited, those that are due longest first."}
        </p>
      </>
    ),
    async act() {
      const { done } = await call("resume", { type });
      if (done === 0)
        return {
          text: "No pause was left to end: another operator has ended it, or its time was up.",
          isPartial: true,
        };
      return { text: type === null ? `Ended ${plural(done, "pause")}.` : `Resumed ${type}.` };
    },
  });
}

export async function askToErase(subject: string): Promise<void> {
  const found = await call("erasable", { subject });
  const isMore = found !== null && Object.values(found).some((each) => each > mostCounted);
  const counted = found && countText({ count: isMore ? mostCounted : total(found), isMore });
  ask({
    title: `Erase the personal data of ${counted ?? "this eSIM"}?`,
    confirm: "Erase",
    deletes: true,
    body: (
      <>
        <p>
          The bodies of all its events are removed, in every state: those that wait are not handled any more.
          It cannot be undone.
        </p>
        <p>
          <Bold text={subject} />
        </p>
      </>
    ),
    async act() {
      const { events, notReached } = await call("erase", { subject });
      const rest = notReached.length > 0 ? " Not reached:" : "";
      return {
        text: `Erased the personal data of ${plural(total(events), "event")}.${rest}`,
        list: notReached,
        isPartial: notReached.length > 0,
        link: { address: esimAt(subject), text: "Its events" },
      };
    },
  });
}

function Bold({ text }: { readonly text: string }) {
  return (
    <strong>
      <bdi>{text}</bdi>
    </strong>
  );
}

export function askToReveal(
  event: EventName,
  session: Session,
  show: (payload: Awaited<ReturnType<typeof reveal>>) => void,
): void {
  ask({
    title: "Reveal the payload without masks?",
    confirm: "Reveal",
    body: <p>It may have personal data. That you have seen it is logged, with your name ({session.name}).</p>,
    async act() {
      show(await reveal(event));
      return { text: "The payload is shown without masks." };
    },
  });
}

function reveal(event: EventName) {
  return call("reveal", { source: event.source, id: event.id });
}
