import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren, type ComponentType, render } from "preact";
import { useEffect } from "preact/hooks";
import type { Failure, Session } from "../src/contract.ts";
import type { Gauges } from "../src/views.ts";
import { Asked, SaidLast } from "./ask.tsx";
import { call, failureOf } from "./call.ts";
import { listenToKeys } from "./keyboard.ts";
import { isFrozen, type Loaded, useCall } from "./live.ts";
import { RetriedLast } from "./retried.tsx";
import { route } from "./route.ts";
import { asOf, Heading, number, Problem, type ViewProps } from "./shown.tsx";
import { readableOn, type Theme, theme, themes } from "./theme.ts";
import { EndpointsView } from "./views/endpoints.tsx";
import { EsimView } from "./views/esim.tsx";
import { EventView } from "./views/event.tsx";
import { EventsView } from "./views/events.tsx";
import { NowView } from "./views/now.tsx";
import { RunsView } from "./views/runs.tsx";
import { TypesView } from "./views/types.tsx";

interface Place {
  readonly name: string;
  readonly View: ComponentType<ViewProps>;
  /** Whether the view is in the navigation. */
  readonly isListed: (session: Session) => boolean;
}

const always = () => true;
const views: Readonly<Record<string, Place>> = {
  now: { name: "Now", View: NowView, isListed: always },
  events: { name: "Events", View: EventsView, isListed: always },
  event: { name: "Event", View: EventView, isListed: () => false },
  types: { name: "Types", View: TypesView, isListed: always },
  esim: { name: "eSIM", View: EsimView, isListed: always },
  runs: { name: "Imports and reconciles", View: RunsView, isListed: always },
  endpoints: { name: "Endpoint", View: EndpointsView, isListed: ({ hasEndpoints }) => hasEndpoints },
};

const retryMs = 3000;

function App() {
  const session = useSignal<Session | null>(null);
  const failure = useSignal<Failure | null>(null);
  useEffect(() => {
    async function load(): Promise<void> {
      try {
        session.value = await call("session", {});
      } catch (error) {
        failure.value = failureOf(error);
        setTimeout(load, retryMs);
      }
    }
    void load();
  }, []);
  if (session.value !== null) return <Shell session={session.value} />;
  if (failure.value === null) return null;
  return (
    <main class="main">
      <Problem failure={failure.value} />
      <p class="quiet">The page tries again every {retryMs / 1000} seconds.</p>
    </main>
  );
}

/** The gauges are cheap, so they are read more often than the rest. */
const gaugesMs = 2000;

function Shell({ session }: { readonly session: Session }) {
  const { view, query } = route.value;
  const place = Object.hasOwn(views, view) ? views[view] : undefined;
  const name = place?.name ?? "Not found";
  const opened = `${view} ${query.get("id") ?? ""}`;
  const gauges = useCall("gauges", {}, gaugesMs);
  const isFirst = useSignal(true);
  useEffect(() => {
    document.title = [name, session.title, "Webhook inbox"].filter(Boolean).join(" · ");
    if (!isFirst.peek()) document.getElementById("title")?.focus();
    isFirst.value = false;
  }, [opened]);
  return (
    <>
      <Side session={session} view={view} gauges={gauges} />
      <main class="main">
        <RetriedLast />
        {place === undefined ? (
          <NotFound />
        ) : (
          <Boundary key={opened}>
            <place.View session={session} query={query} gauges={gauges} />
          </Boundary>
        )}
      </main>
      <SaidLast />
      <Asked />
    </>
  );
}

/** Shows the error of a view that cannot be rendered: the navigation stays. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly failure?: Failure }> {
  static override getDerivedStateFromError(error: unknown): { readonly failure: Failure } {
    return { failure: failureOf(error) };
  }

  override render() {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return (
      <>
        <Heading>This view failed</Heading>
        <Problem failure={failure} />
        <button type="button" class="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </>
    );
  }
}

function deadText({ data }: Loaded<Gauges>): string {
  return `${number(data?.counts.dead ?? 0)}${data?.capped.includes("dead") ? "+" : ""} dead`;
}

function NotFound() {
  return (
    <>
      <Heading>Not found</Heading>
      <p>
        The address names no view. <a href="#/now">Go to Now</a>
      </p>
    </>
  );
}

function Side(props: { readonly session: Session; readonly view: string; readonly gauges: Loaded<Gauges> }) {
  const { session, view, gauges } = props;
  const dead = gauges.data?.counts.dead ?? 0;
  const hasFailed = gauges.failure !== undefined;
  const color = session.color ?? "#3f4654";
  return (
    <header class="side">
      <a
        class="skip"
        href={location.hash || "#/now"}
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("title")?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class="brand">
        <span class="brand-name">Webhook inbox</span>
        {session.title !== null && (
          <strong class="badge" style={{ background: color, color: readableOn(color) }}>
            <bdi>{session.title}</bdi>
          </strong>
        )}
      </div>
      <nav class="views" aria-label="Views">
        {Object.entries(views).map(
          ([key, { name, isListed }]) =>
            isListed(session) && (
              <a
                key={key}
                href={`#/${key}`}
                aria-current={key === view || (key === "events" && view === "event") ? "page" : undefined}
              >
                {name}
                {key === "events" && dead > 0 && (
                  <span class="dead-count">
                    {deadText(gauges)}
                    {hasFailed && <span class="wide"> {asOf(gauges.at ?? 0)}</span>}
                  </span>
                )}
              </a>
            ),
        )}
      </nav>
      <div class="settings">
        <button
          type="button"
          class={hasFailed ? "button small live failing" : "button small live"}
          role="switch"
          aria-checked={!isFrozen.value}
          title={`${isFrozen.value ? "This page stays as it is." : "This page is read again every few seconds."} Workers continue either way.`}
          onClick={() => {
            isFrozen.value = !isFrozen.value;
          }}
        >
          <span>
            Live<span class="wide"> updates</span>
          </span>
          <span class="live-state" aria-hidden="true">
            {isFrozen.value ? "off" : hasFailed ? "no answer" : "on"}
          </span>
        </button>
        <label class="theme">
          <span>Theme</span>
          <select
            value={theme.value}
            onChange={({ currentTarget: { value } }) => {
              theme.value = value as Theme;
            }}
          >
            {themes.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <p class="quiet keys">
          <kbd>j</kbd> <kbd>k</kbd> rows, <kbd>Enter</kbd> open, <kbd>Esc</kbd> back, <kbd>/</kbd> filter
        </p>
        <p class="quiet">
          <bdi>{session.name}</bdi>, {session.role} · {session.version}
        </p>
      </div>
    </header>
  );
}

listenToKeys();
const app = document.getElementById("app");
if (app !== null) render(<App />, app);
