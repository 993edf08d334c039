import type { ComponentChildren } from "preact";
import type { Gauges, Now, PauseView } from "../../src/views.ts";
import { askToPause, askToResume } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { useCall } from "../live.ts";
import { filled, Minutes } from "../plot.tsx";
import { eventsAt } from "../route.ts";
import {
  Bar,
  Code,
  duration,
  Empty,
  Heading,
  number,
  Panel,
  plural,
  Stale,
  StateIcon,
  Time,
  type ViewProps,
} from "../shown.tsx";

export function NowView({ session, gauges }: ViewProps) {
  const loaded = useCall("now", {}, 10_000);
  const { data } = loaded;
  const isOperator = session.role === "operator";
  return (
    <>
      <Heading
        aside={
          isOperator && (
            <button type="button" class="button" onClick={() => askToPause(null).catch(sayFailure)}>
              Pause all…
            </button>
          )
        }
      >
        Now
      </Heading>
      <Stale of={gauges.failure === undefined ? loaded : gauges} />
      {data?.workers.length === 0 && (
        <p class="problem">
          <strong>No worker has reported in the last 30 s.</strong> Events are stored, but may not be handled.
          Start a worker.
        </p>
      )}
      {gauges.data !== undefined && <Figures gauges={gauges.data} minutes={data?.minutes ?? null} />}
      {data !== undefined && (
        <>
          <Panel title="Events by minute">
            {data.minutes === null ? (
              <Empty title="No minutes are counted">
                To see what arrives and what is done, set the inbox's option <code>minuteCounts: true</code>.
                The first figures appear within a minute.
              </Empty>
            ) : (
              <Minutes
                minutes={data.minutes}
                now={Date.parse(gauges.data?.at ?? data.minutes.at(-1)?.at ?? "")}
              />
            )}
          </Panel>
          <Causes now={data} />
          <div class="columns">
            <Pauses pauses={data.pauses} canResume={isOperator} />
            <Workers now={data} />
            <Keys now={data} />
            <LastPass now={data} />
          </div>
        </>
      )}
    </>
  );
}

const recentMinutes = 5;

function Figures(props: { readonly gauges: Gauges; readonly minutes: Now["minutes"] }) {
  const { minutes } = props;
  const { at, counts, capped, oldestDueMs, lastDeliveryAt } = props.gauges;
  const count = (name: keyof Gauges["counts"]) =>
    `${number(counts[name])}${capped.includes(name) ? "+" : ""}`;
  const recent = minutes === null ? [] : filled(minutes, 1, Date.parse(at)).slice(-recentMinutes);
  const rate = (name: "stored" | "done") =>
    recent.length === 0
      ? "–"
      : number(Math.round(recent.reduce((sum, minute) => sum + minute[name], 0) / recent.length));
  return (
    <dl class="figures">
      <Figure
        name="Dead"
        address={eventsAt({ state: "dead" })}
        icon={<StateIcon state="dead" />}
        isBad={counts.dead > 0}
      >
        {count("dead")}
      </Figure>
      <Figure
        name="Unhandled"
        address={eventsAt({ state: "unhandled" })}
        icon={<StateIcon state="unhandled" />}
      >
        {count("unhandled")}
      </Figure>
      <Figure
        name="Due"
        address={eventsAt({ state: "ready" })}
        icon={<StateIcon state="due" />}
        note={`${count("waiting")} due later, ${count("blocked")} blocked, ${count("paused")} paused`}
      >
        {count("ready")}
      </Figure>
      <Figure
        name="Leased"
        address={eventsAt({ state: "leased" })}
        icon={<StateIcon state="leased" />}
        note="at workers"
      >
        {count("leased")}
      </Figure>
      <Figure name="Oldest due">{oldestDueMs === null ? "–" : duration(oldestDueMs)}</Figure>
      <Figure name="Stored a minute" note="last 5 minutes">
        {rate("stored")}
      </Figure>
      <Figure name="Done a minute" note="or unhandled, last 5 minutes">
        {rate("done")}
      </Figure>
      <Figure name="Last delivery">
        <Time at={lastDeliveryAt} none="none yet" />
      </Figure>
    </dl>
  );
}

function Figure(props: {
  readonly name: string;
  readonly address?: string;
  readonly icon?: ComponentChildren;
  readonly note?: string;
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}) {
  const { name, address, icon, note, isBad, children } = props;
  return (
    <div class={isBad ? "figure bad" : "figure"}>
      <dt>
        {icon}
        {name}
      </dt>
      <dd>
        {address === undefined ? (
          children
        ) : (
          <a class="figure-link" href={address}>
            {children}
          </a>
        )}
        {note !== undefined && <span class="figure-note">{note}</span>}
      </dd>
    </div>
  );
}

function Causes({ now }: { readonly now: Now }) {
  const { deadCauses, deadSearched } = now;
  const most = Math.max(...deadCauses.map(({ count }) => count));
  return (
    <Panel
      title="Dead by cause"
      aside={
        deadSearched > 0 && <span class="quiet">of the newest {plural(deadSearched, "dead event")}</span>
      }
    >
      {deadCauses.length === 0 ? (
        <Empty title="No event is dead">When handlers keep failing, their errors are grouped here.</Empty>
      ) : (
        <ul class="causes">
          {deadCauses.map(({ error, count, types, oldestAt, newestAt, lastHour, hourBefore }) => (
            <li key={error}>
              <span class="cause-count">{number(count)}</span>
              <Bar parts={{ dead: count, rest: most - count }} />
              <a data-row class="cause-error" title={error} href={eventsAt({ state: "dead", cause: error })}>
                <bdi>{error}</bdi>
              </a>
              <span class="cause-types quiet">
                {types.length === 1 ? <bdi>{types[0] ?? "no type"}</bdi> : plural(types.length, "type")}
              </span>
              <span class="cause-time">
                first received <Time at={oldestAt} />, last died <Time at={newestAt} />
                <br />
                died: {number(lastHour)} in the last hour, {number(hourBefore)} in the hour before
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Pauses({
  pauses,
  canResume,
}: {
  readonly pauses: readonly PauseView[];
  readonly canResume: boolean;
}) {
  return (
    <Panel title="Paused">
      {pauses.length === 0 ? (
        <Empty title="Nothing is paused">
          {canResume ? "Pause a type in Types while a system behind its handler is down." : undefined}
        </Empty>
      ) : (
        <ul class="rows">
          {pauses.map((pause) => (
            <li key={pause.type}>
              <div class="grow">
                <strong class="paused-name">
                  <StateIcon state="paused" />
                  {pause.type === null ? "All types" : <bdi>{pause.type}</bdi>}
                </strong>
                <div>
                  <bdi>{pause.reason}</bdi>
                </div>
                <div class="quiet">
                  <Time at={pause.since} />
                  {pause.by !== null && (
                    <>
                      {" "}
                      by <bdi>{pause.by}</bdi>
                    </>
                  )}
                  {pause.until !== null && (
                    <>
                      , ends <Time at={pause.until} />
                    </>
                  )}
                </div>
              </div>
              {canResume && (
                <button type="button" class="button small" onClick={() => askToResume(pause.type, pauses)}>
                  Resume…
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Workers({ now }: { readonly now: Now }) {
  return (
    <Panel title="Workers" aside={<span class="quiet">seen in the last 30 s</span>}>
      {now.workers.length === 0 ? (
        <Empty title="No worker has reported">Start one with createWorker, or esim-webhooks work.</Empty>
      ) : (
        <ul class="rows">
          {now.workers.map((worker) => (
            <li key={worker.id}>
              <div class="grow">
                <Code text={worker.id} />
                <div class="quiet">
                  started <Time at={worker.startedAt} />, last take{" "}
                  <Time at={worker.lastTakeAt} none="none" />
                </div>
              </div>
              <Slots running={worker.running} of={worker.concurrency} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Slots({ running, of }: { readonly running: number | null; readonly of: number | null }) {
  if (running === null || of === null) return <span class="quiet">slots not known</span>;
  return (
    <span class="slots" title={`${running} of ${of} slots have an event`}>
      <Bar parts={{ used: running, rest: of - running }} />
      {running}/{of} slots
    </span>
  );
}

function Keys({ now }: { readonly now: Now }) {
  return (
    <Panel title="Keys in use">
      {now.keys === null ? (
        <Empty title="No key is known">It appears with the first signed delivery.</Empty>
      ) : (
        <ul class="rows">
          {now.keys.map(({ key, validUntil, lastUsedAt }) => (
            <li key={key}>
              <div class="grow">
                <Code text={key} />
              </div>
              <span class="quiet">
                {validUntil !== null && (
                  <>
                    valid until <Time at={validUntil} />,{" "}
                  </>
                )}
                used <Time at={lastUsedAt} none="not lately" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function LastPass({ now: { lastPass } }: { readonly now: Now }) {
  return (
    <Panel title="Last reconcile pass" aside={<a href="#/runs">All runs</a>}>
      {lastPass === null ? (
        <Empty title="No pass has run">
          A pass finds deliveries that were missed: esim-webhooks reconcile.
        </Empty>
      ) : (
        <ul class="rows">
          <li>
            <div class="grow">
              <Code text={lastPass.run} />
              <div class="quiet">
                {number(lastPass.ledger["stored"] ?? 0)} stored of {number(lastPass.ledger["read"] ?? 0)} read
              </div>
            </div>
            <span>
              {lastPass.outcome} <Time at={lastPass.endedAt} />
            </span>
          </li>
        </ul>
      )}
    </Panel>
  );
}
