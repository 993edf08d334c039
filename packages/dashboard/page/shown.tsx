import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Failure, Session } from "../src/contract.ts";
import type { EventName, EventRow, Gauges } from "../src/views.ts";
import { isBackFrom } from "./keyboard.ts";
import { clock, type Loaded } from "./live.ts";
import { eventAt, eventsAt } from "./route.ts";

export type State = EventRow["state"];

const whole = new Intl.NumberFormat("en");

export function number(value: number): string {
  return whole.format(value);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A text that ends as a sentence does. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** A time in the browser's time zone, to the millisecond. */
export function exactTime(iso: string): string {
  const at = new Date(iso);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return `${local.slice(0, 10)} ${local.slice(11, 23)}`;
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

export function duration(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ["ms", 1];
  return `${Math.floor(ms / size)} ${unit}`;
}

/** A time as its distance from now, with the exact one in the title. */
export function Time({ at, none = "–" }: { readonly at: string | null; readonly none?: string }) {
  if (at === null) return <span class="quiet">{none}</span>;
  const ms = clock.value - Date.parse(at);
  const shown = ms < 1000 && ms > -1000 ? "now" : ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`;
  return (
    <time dateTime={at} title={`${exactTime(at)} (${at})`}>
      {shown}
    </time>
  );
}

const instants = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ)/;

/** A text of the server, with its times in the browser's time zone. */
export function LocalTimes({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(instants).map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <time key={index} dateTime={part.replace(" ", "T")} title={part}>
            {exactTime(part.replace(" ", "T")).slice(0, 19)}
          </time>
        ),
      )}
    </>
  );
}

export const stateNames: Readonly<Record<State | "paused" | "blocked", string>> = {
  ready: "Ready",
  leased: "Leased",
  done: "Done",
  unhandled: "Unhandled",
  dead: "Dead",
  paused: "Paused",
  blocked: "Blocked",
};

/** How many events are in a state, by the gauges, which do not count the done ones. */
export function gaugeOf({ counts, capped }: Gauges, state: Exclude<State, "done">) {
  const names = state === "ready" ? (["ready", "waiting", "blocked", "paused"] as const) : [state];
  return {
    count: names.reduce((sum, name) => sum + counts[name], 0),
    isMore: names.some((name) => capped.includes(name)),
  };
}

/** A state, or a part of those that are ready. */
export type Mark = State | "due" | "paused" | "blocked";

/** Each mark has a form of its own, so that it can be recognised without its colour. */
const shapes: Readonly<Record<Mark, ComponentChildren>> = {
  ready: <circle cx="8" cy="8" r="5.5" fill="none" stroke-width="2" stroke-dasharray="3 2.2" />,
  due: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke-width="1.75" />
      <path d="M8 4.4V8l2.4 1.6" fill="none" stroke-width="1.75" />
    </>
  ),
  paused: (
    <>
      <rect x="1.9" y="1.9" width="12.2" height="12.2" rx="2.5" fill="none" stroke-width="1.75" />
      <path d="M6.1 5.2v5.6M9.9 5.2v5.6" stroke-width="1.75" />
    </>
  ),
  blocked: <path d="M2.5 2v12M13.5 8H6.2m2.6-3L5.8 8l3 3" fill="none" stroke-width="1.75" />,
  leased: (
    <>
      <circle cx="8" cy="8" r="5.75" fill="none" stroke-width="1.75" />
      <path d="M8 4.5a3.5 3.5 0 0 1 0 7z" fill="currentColor" stroke="none" />
    </>
  ),
  done: (
    <>
      <circle cx="8" cy="8" r="6.75" fill="currentColor" stroke="none" />
      <path d="M5 8.2l2.1 2.1L11 6.2" fill="none" stroke="var(--surface)" stroke-width="1.75" />
    </>
  ),
  unhandled: (
    <>
      <path d="M8 1.6L14.4 8 8 14.4 1.6 8z" fill="none" stroke-width="1.75" />
      <path d="M5.6 8h4.8" stroke-width="1.75" />
    </>
  ),
  dead: (
    <>
      <path d="M5.2 1.2h5.6l4 4v5.6l-4 4H5.2l-4-4V5.2z" fill="currentColor" stroke="none" />
      <path d="M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8" stroke="var(--surface)" stroke-width="1.75" />
    </>
  ),
};

export function StateIcon({ state }: { readonly state: Mark }) {
  return (
    <svg class={`icon state-${state}`} viewBox="0 0 16 16" aria-hidden="true" stroke="currentColor">
      {shapes[state]}
    </svg>
  );
}

export function StateLabel({ of }: { readonly of: Pick<EventRow, "state" | "heldBack"> }) {
  const mark = markOf(of);
  return (
    <span class={`state state-${mark}`}>
      <StateIcon state={mark} />
      {stateNames[mark]}
    </span>
  );
}

export function markOf({ state, heldBack }: Pick<EventRow, "state" | "heldBack">): keyof typeof stateNames {
  return heldBack ?? state;
}

/** Text of an event, such as an id: its characters do not change the order of those around it. */
export function Code({ text }: { readonly text: string }) {
  return (
    <bdi class="code" title={text}>
      {text}
    </bdi>
  );
}

export function TypeName({ type }: { readonly type: string | null }) {
  return type === null ? <span class="quiet">no type</span> : <bdi title={type}>{type}</bdi>;
}

export function EventLink({ event }: { readonly event: EventName }) {
  return (
    <a class="code" href={eventAt(event)}>
      <bdi>{event.id}</bdi>
    </a>
  );
}

/** The link of a row. It gets the focus when Escape leads back from what it opened. */
export function RowLink(props: {
  readonly href: string;
  readonly class?: string;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isBackFrom(props.href)) link.current?.focus();
  }, []);
  return <a data-row ref={link} {...props} />;
}

export function RunName({ run }: { readonly run: string | null }) {
  if (run === null) return <span class="quiet">delivered by the sender</span>;
  return (
    <a href="#/runs">
      <Code text={run} />
    </a>
  );
}

/** Parts of a whole, each as wide as its number. It is for the eye: the numbers are in the text next to it. */
export function Bar({ parts }: { readonly parts: Readonly<Record<string, number>> }) {
  return (
    <span class="bar" aria-hidden="true">
      {Object.entries(parts).map(([name, part]) => (
        <i key={name} class={`bar-${name}`} style={{ flexGrow: part }} />
      ))}
    </span>
  );
}

export function Problem({
  failure,
  children,
}: {
  readonly failure: Failure;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{failure.message}</strong>
      </p>
      {children}
      <p class="code">{failure.code}</p>
    </div>
  );
}

/** As in `as of 14:03:22`. */
export function asOf(at: number): string {
  return `as of ${exactTime(new Date(at).toISOString()).slice(11, 19)}`;
}

/** The problem of a failed read, above the data that was read before. */
export function Stale({ of: { failure, at } }: { readonly of: Loaded<unknown> }) {
  if (failure === undefined) return null;
  return <Problem failure={failure}>{at !== undefined && <p>The figures below are {asOf(at)}.</p>}</Problem>;
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** The heading of a view, which gets the focus when the view is opened. */
export function Heading({
  children,
  aside,
}: {
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}) {
  return (
    <div class="heading">
      <h1 id="title" tabIndex={-1}>
        {children}
      </h1>
      {aside !== undefined && <div class="heading-aside">{aside}</div>}
    </div>
  );
}

export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {aside !== undefined && <div class="panel-aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

export function typeAt(type: string | null, state?: State): string {
  return eventsAt({ ...(type !== null && { types: [type] }), ...(state !== undefined && { state }) });
}

export interface ViewProps {
  readonly session: Session;
  readonly gauges: Loaded<Gauges>;
  readonly query: URLSearchParams;
}
