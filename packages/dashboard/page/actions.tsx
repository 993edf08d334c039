import type { Session } from "../src/contract.ts";
import type { EventName, PauseView } from "../src/views.ts";
import { ask } from "./ask.tsx";
import { countText, mostCounted, whenOf } from "./bulk.tsx";
import { call } from "./call.ts";
import { Obstacles, obstacles } from "./retried.tsx";
import { esimAt, eventsAt, go } from "./route.ts";
import { number, plural, Time } from "./shown.tsx";

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
      const { done } = await call(action, { filter: { state, source, ids: [id] }, most: 1 });
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

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
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
