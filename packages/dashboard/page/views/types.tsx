import { askToPause, askToResume } from "../actions.tsx";
import { useCall } from "../live.ts";
import { states } from "../route.ts";
import {
  exactTime,
  Heading,
  number,
  plural,
  Stale,
  StateIcon,
  stateNames,
  Time,
  TypeName,
  typeAt,
  type ViewProps,
} from "../shown.tsx";

export function TypesView({ session }: ViewProps) {
  const loaded = useCall("types", {}, 5000);
  const { data } = loaded;
  const now = useCall("now", {}, 5000).data;
  const allPaused = now?.pauses.find(({ type }) => type === null);
  const canPause = session.role === "operator";
  return (
    <>
      <Heading>Types</Heading>
      <Stale of={loaded} />
      {allPaused !== undefined && (
        <p class="waits">
          <span>
            All types are paused <Time at={allPaused.since} />: <bdi>{allPaused.reason}</bdi>
          </span>
        </p>
      )}
      {data !== undefined && (
        <>
          <p class="quiet">
            Counts are of the newest {plural(data.searched, "event")} only
            {data.since !== null && <>, received since {exactTime(data.since).slice(0, 16)}</>}.
          </p>
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
              {data.types.map(({ type, states: counts, lastAt, pause }) => (
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
                      {counts[state] === 0 || type === null ? (
                        <span class="quiet">{number(counts[state])}</span>
                      ) : (
                        <a href={typeAt(type, state)}>{number(counts[state])}</a>
                      )}
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
                          onClick={() => askToPause(type)}
                        >
                          Pause…
                        </button>
                      ) : (
                        <button
                          type="button"
                          class="button small"
                          aria-label={`Resume ${type}`}
                          onClick={() => askToResume(type)}
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
