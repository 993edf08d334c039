import { askToErase } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { useCall } from "../live.ts";
import { esimAt, eventAt, go } from "../route.ts";
import {
  Empty,
  exactTime,
  Heading,
  markOf,
  plural,
  RowLink,
  Stale,
  StateIcon,
  stateNames,
  Time,
  TypeName,
  type ViewProps,
} from "../shown.tsx";
import { Paging, useHeld } from "./events.tsx";

export function EsimView({ session, query }: ViewProps) {
  const subject = query.get("subject");
  return (
    <>
      <Heading
        aside={
          session.role === "operator" &&
          subject && (
            <button type="button" class="button" onClick={() => askToErase(subject).catch(sayFailure)}>
              Erase…
            </button>
          )
        }
      >
        {subject ? (
          <>
            eSIM <bdi class="code">{subject}</bdi>
          </>
        ) : (
          "eSIM"
        )}
      </Heading>
      {session.missingFilters.subject !== undefined ? (
        <Empty title="This view is not available">{session.missingFilters.subject}</Empty>
      ) : subject ? (
        <Timeline key={subject} subject={subject} cursor={query.get("cursor") ?? undefined} />
      ) : (
        <Find />
      )}
    </>
  );
}

function Find() {
  return (
    <form
      class="find"
      onSubmit={(event) => {
        event.preventDefault();
        const subject = String(new FormData(event.currentTarget).get("subject")).trim();
        if (subject !== "") go(esimAt(subject));
      }}
    >
      <label class="field">
        eSIM reference
        <input name="subject" required spellcheck={false} autocomplete="off" />
      </label>
      <button type="submit" class="button primary">
        Show its events
      </button>
    </form>
  );
}

function Timeline({ subject, cursor }: { readonly subject: string; readonly cursor: string | undefined }) {
  const loaded = useCall("list", { filter: { subject }, ...(cursor !== undefined && { cursor }) }, 5000);
  const { rows = [], newCount, show } = useHeld(loaded);
  const days = Map.groupBy(rows, ({ receivedAt }) =>
    receivedAt === null ? "inline" : exactTime(receivedAt).slice(0, 10),
  );
  return (
    <>
      <Stale of={loaded} />
      {newCount > 0 && cursor === undefined && (
        <button type="button" class="new-events" onClick={show}>
          Show {plural(newCount, "new event")}
        </button>
      )}
      {loaded.data?.nextCursor === null && rows.length === 0 && (
        <Empty title={cursor === undefined ? "No event of this eSIM" : "No older event of this eSIM"}>
          Check the reference: it is matched as a whole. Events whose retention has ended are deleted.
        </Empty>
      )}
      {[...days].map(([day, events]) => (
        <section key={day} class="day">
          <h2 class="day-title">{day}</h2>
          <ol class="timeline">
            {events.map((row) => (
              <li key={`${row.id} ${row.source}`} class={row.heldBack === "paused" ? "is-paused" : undefined}>
                <span class="timeline-time" title={row.receivedAt ?? undefined}>
                  {row.receivedAt === null ? "" : exactTime(row.receivedAt).slice(11, 19)}
                </span>
                <span class="step-mark">
                  <StateIcon state={markOf(row)} />
                </span>
                <div class="grow">
                  <RowLink href={eventAt(row)}>
                    <TypeName type={row.type} />
                  </RowLink>{" "}
                  <span class={`state-${markOf(row)}`}>
                    {row.heldBack ?? stateNames[row.state].toLowerCase()}
                  </span>
                  {row.error !== null && (
                    <div class="quiet cut" title={row.error}>
                      <bdi>{row.error}</bdi>
                    </div>
                  )}
                </div>
                <span class="quiet">
                  <Time at={row.receivedAt} />
                </span>
              </li>
            ))}
          </ol>
        </section>
      ))}
      {loaded.data !== undefined && (
        <Paging page={loaded.data} at={(next) => esimAt(subject, next)} cursor={cursor} />
      )}
    </>
  );
}
