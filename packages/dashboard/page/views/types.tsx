import { askToPause, askToResume } from "../actions.tsx";
import { sayFailure } from "../ask.tsx";
import { useCall } from "../live.ts";
import { states } from "../route.ts";
import {
  Heading,
  number,
  Stale,
  type State,
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
  const allPaused = data?.allPaused ?? null;
  const pauses = [allPaused, ...(data?.types.map(({ pause }) => pause) ?? [])].filter(
    (pause) => pause !== null,
  );
  const canPause = session.role === "operator";
  const isMore = (state: State) => data?.more.includes(state) === true;
  return (
    <>
      <Heading>Types</Heading>
      <Stale of={loaded} />
      {allPaused !== null && (
        <p class="waits">
          <span>
            All types are paused <Time at={allPaused.since} />: <bdi>{allPaused.reason}</bdi>
          </span>
        </p>
      )}
      {data !== undefined && (
        <>
          {data.more.length > 0 && (
            <p class="quiet">
              A count with + is of the newest events of its state: older ones were not counted.
            </p>
          )}
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
                      <TypeCount type={type} state={state} count={counts[state]} isMore={isMore(state)} />
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
                          onClick={() => askToPause(type).catch(sayFailure)}
                        >
                          Pause…
                        </button>
                      ) : (
                        <button
                          type="button"
                          class="button small"
                          aria-label={`Resume ${type}`}
                          onClick={() => askToResume(type, pauses)}
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

function TypeCount(props: {
  readonly type: string | null;
  readonly state: State;
  readonly count: number;
  readonly isMore: boolean;
}) {
  const { type, state, count, isMore } = props;
  const text = `${number(count)}${isMore ? "+" : ""}`;
  if (type === null || (count === 0 && !isMore)) return <span class="quiet">{text}</span>;
  return (
    <a class={count === 0 ? "quiet" : `state-${state}`} href={typeAt(type, state)}>
      {text}
    </a>
  );
}
