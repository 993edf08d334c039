import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Session } from "../../src/contract.ts";
import type { EventView as Event, EventName, Payload } from "../../src/views.ts";
import { askForOne, askToReveal } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { askToGiveUp } from "../bulk.tsx";
import { JsonTree } from "../json.tsx";
import { useCall } from "../live.ts";
import { esimAt, eventAt, eventsAt } from "../route.ts";
import {
  Code,
  duration,
  Empty,
  EventLink,
  exactTime,
  Heading,
  LocalTimes,
  type Mark,
  markOf,
  number,
  Panel,
  plural,
  RunName,
  Stale,
  StateIcon,
  StateLabel,
  sentence,
  Time,
  TypeName,
  type ViewProps,
} from "../shown.tsx";

export function EventView({ session, query }: ViewProps) {
  const name = { source: query.get("source") ?? "default", id: query.get("id") ?? "" };
  const loaded = useCall("event", name, 2000);
  const event = loaded.data?.id === name.id && loaded.data.source === name.source ? loaded.data : undefined;
  return (
    <>
      <Heading aside={event && session.role === "operator" && <Actions event={event} session={session} />}>
        {event === undefined ? <bdi>{name.id}</bdi> : <TypeName type={event.type} />}
      </Heading>
      <Stale of={loaded} />
      {event !== undefined && <Details event={event} session={session} />}
    </>
  );
}

function Actions({ event, session }: { readonly event: Event; readonly session: Session }) {
  const { state } = event;
  if (state !== "dead" && state !== "unhandled" && state !== "ready") return null;
  const isDueLater = event.dueAt === null || Date.parse(event.dueAt) > Date.now();
  const start = (action: "retry" | "discard") => askForOne(action, event, state).catch(sayFailure);
  return (
    <>
      {state === "dead" && (
        <button type="button" class="button" onClick={() => start("discard")}>
          Delete…
        </button>
      )}
      {state === "ready" && session.givesUp && (
        <button
          type="button"
          class="button"
          onClick={() => void askToGiveUp({ filter: { state }, rows: [event], session }).catch(sayFailure)}
        >
          Give up…
        </button>
      )}
      {(state !== "ready" || isDueLater) && (
        <button type="button" class="button primary" onClick={() => start("retry")}>
          {state === "ready" ? "Run now…" : "Retry…"}
        </button>
      )}
    </>
  );
}

function Details({ event, session }: { readonly event: Event; readonly session: Session }) {
  return (
    <>
      <div class="event-line">
        <StateLabel of={event} />
        <Code text={event.id} />
        <span class="quiet">
          received <Time at={event.receivedAt} none="inline" />
        </span>
        <nav class="event-near" aria-label="Events of the same eSIM">
          <Near name="Earlier" event={event.before} />
          <Near name="Later" event={event.after} />
        </nav>
      </div>
      {event.waits !== null && (
        <p class="waits">
          <StateIcon state={markOf(event)} />
          <span>
            <span class="hidden">Why does it wait? </span>
            <bdi>
              <LocalTimes text={sentence(event.waits)} />
            </bdi>
            {event.heldBy !== null && (
              <>
                {" "}
                <a href={eventAt(event.heldBy)}>Show the event that holds the lane</a>
              </>
            )}
          </span>
        </p>
      )}
      <div class="event-columns">
        <div class="event-main">
          {event.error !== null && <ErrorPanel event={event} error={event.error} />}
          <Body key={`${event.source} ${event.id}`} event={event} session={session} />
        </div>
        <div class="event-side">
          <Steps event={event} />
          <Facts event={event} />
        </div>
      </div>
    </>
  );
}

function Near({ name, event }: { readonly name: string; readonly event: EventName | null }) {
  if (event === null)
    return (
      <span class="button small off" title={`No ${name.toLowerCase()} event of the same eSIM`}>
        {name}
      </span>
    );
  return (
    <a class="button small" href={eventAt(event)} title={`${name} event of the same eSIM: ${event.id}`}>
      {name}
    </a>
  );
}

const foldedLines = 6;
const foldedCharacters = 600;

/** An error, with each of its causes on a line. A long one is folded. */
function ErrorText({ error }: { readonly error: string }) {
  const isOpen = useSignal(false);
  const text = error.replaceAll(": caused by: ", "\ncaused by: ");
  const lines = text.split("\n").length;
  const isLong = lines > foldedLines || text.length > foldedCharacters;
  return (
    <>
      <div class={isLong && !isOpen.value ? "error-text clamped" : "error-text"}>
        <bdi>{text}</bdi>
      </div>
      {isLong && (
        <button
          type="button"
          class="button small"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {isOpen.value ? "Fold" : lines > foldedLines ? `Show all ${number(lines)} lines` : "Show all"}
        </button>
      )}
    </>
  );
}

function ErrorPanel({ event, error }: { readonly event: Event; readonly error: string }) {
  return (
    <Panel
      title={event.state === "dead" ? "Why it is dead" : "Last error"}
      aside={
        event.state === "dead" && (
          <a href={eventsAt({ state: "dead", ...(event.cause !== null && { cause: event.cause }) })}>
            Dead with this error
          </a>
        )
      }
    >
      <ErrorText error={error} />
      {event.stack !== null && event.stack !== error && (
        <details class="stack">
          <summary>Stack</summary>
          <pre>
            <bdi>{event.stack}</bdi>
          </pre>
        </details>
      )}
    </Panel>
  );
}

interface Step {
  readonly icon: Mark | null;
  readonly title: string;
  readonly at: string | null;
  readonly note?: ComponentChildren;
}

const reasons: Readonly<Record<string, string>> = {
  failed: "failed",
  timed_out: "timed out",
  lease_ended: "lost its lease, perhaps since its process ended",
};

/** The steps of the event so far, oldest first. */
function stepsOf(event: Event): Step[] {
  const { history } = event;
  return [
    {
      icon: null,
      title: event.run === null ? "Received" : "Stored by a run",
      at: event.receivedAt,
      note: event.key && <Code text={event.key} />,
    },
    ...history.map(
      (attempt): Step => ({
        icon: null,
        title:
          attempt.attempts === null
            ? `Attempt ${reasons[attempt.reason] ?? attempt.reason}`
            : `${attempt.reason === "retried" ? "Retried" : "Given up"}${attempt.by === null ? "" : ` by ${attempt.by}`}, ${plural(attempt.attempts, "attempt")} before`,
        at: attempt.endedAt,
        note: (
          <>
            {attempt.durationMs !== null && <span>after {duration(attempt.durationMs)} </span>}
            {attempt.worker !== null && (
              <span>
                at <Code text={attempt.worker} />
              </span>
            )}
            {attempt.error !== null && <ErrorText error={attempt.error} />}
          </>
        ),
      }),
    ),
    ...(event.erasedAt === null ? [] : [{ icon: null, title: "Erased", at: event.erasedAt }]),
    {
      icon: markOf(event),
      title: stateTitles[markOf(event)],
      at: event.state === "leased" ? event.takenAt : event.settledAt,
    },
  ];
}

const stateTitles: Readonly<Record<ReturnType<typeof markOf>, string>> = {
  paused: "Paused: waits until it is resumed",
  blocked: "Blocked: waits for the event that holds its lane",
  ready: "Ready: waits for an attempt",
  leased: "Leased: a worker has it",
  done: "Done",
  unhandled: "Unhandled: no handler has its type",
  dead: "Dead: no attempt follows",
};

function Steps({ event }: { readonly event: Event }) {
  return (
    <Panel title="What happened">
      <ol class="steps">
        {stepsOf(event).map(({ icon, title, at, note }, index) => (
          <li key={index}>
            <span class="step-mark">{icon === null ? <i class="dot" /> : <StateIcon state={icon} />}</span>
            <div class="grow">
              <div class="step-title">
                <span>{title}</span>
                {at !== null && <Time at={at} />}
              </div>
              {note && <div class="note">{note}</div>}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Facts({ event }: { readonly event: Event }) {
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ["Id", <Code key="id" text={event.id} />],
    ["Source", <bdi key="source">{event.source}</bdi>],
    [
      "eSIM",
      event.subject !== null && (
        <a key="esim" href={esimAt(event.subject)}>
          <Code text={event.subject} />
        </a>
      ),
    ],
    ["Lane", event.lane !== null && <Code key="lane" text={event.lane} />],
    ["Held by", event.heldBy !== null && <EventLink key="held" event={event.heldBy} />],
    ["Key", event.key !== null && <Code key="key" text={event.key} />],
    ["Stored by", <RunName key="run" run={event.run} />],
    ["Attempts", number(event.attempts)],
    ["Conflicts", event.conflicts > 0 && `${number(event.conflicts)}: the same id with another body`],
    ["Received", event.receivedAt !== null && exactTime(event.receivedAt)],
    ["Settled", event.settledAt !== null && exactTime(event.settledAt)],
    ["Due", event.dueAt !== null && <Time key="due" at={event.dueAt} />],
    ["Lease ends", event.leasedUntil !== null && <Time key="leased" at={event.leasedUntil} />],
    ["Kept until", event.keptUntil !== null && <Time key="kept" at={event.keptUntil} />],
    ["Trace", event.trace !== null && <Code key="trace" text={event.trace} />],
  ];
  return (
    <Panel title="Facts">
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value !== false && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
    </Panel>
  );
}

function Body({ event, session }: { readonly event: Event; readonly session: Session }) {
  const revealed = useSignal<Payload | null>(null);
  const payload = revealed.value ?? event.payload;
  const isMasked = payload.isMasked === true;
  const canReveal = session.role === "operator" && revealed.value === null && isMasked;
  return (
    <Panel
      title="Payload"
      aside={
        <>
          {isMasked && <span class="quiet">personal data is masked</span>}
          {canReveal && (
            <button
              type="button"
              class="button small"
              onClick={() =>
                askToReveal(event, session, (shown) => {
                  revealed.value = shown;
                })
              }
            >
              Reveal…
            </button>
          )}
        </>
      }
    >
      <PayloadShown payload={payload} />
    </Panel>
  );
}

function PayloadShown({ payload }: { readonly payload: Payload }) {
  if (payload.kind === "none") return <Empty title={payload.why} />;
  if (payload.kind === "text")
    return (
      <pre>
        <bdi>{payload.text}</bdi>
      </pre>
    );
  return <JsonTree text={payload.text} />;
}
