import { useCall } from "../live.ts";
import { Code, duration, Empty, Heading, number, Stale, Time } from "../shown.tsx";

export function RunsView() {
  const loaded = useCall("runs", {}, 5000);
  const { data } = loaded;
  return (
    <>
      <Heading>Imports and reconciles</Heading>
      <Stale of={loaded} />
      {data?.length === 0 && (
        <Empty title="No run yet">
          A reconcile pass stores what was not delivered: esim-webhooks reconcile. An import stores a file of
          deliveries: esim-webhooks import.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <table class="runs">
          <thead>
            <tr>
              <th>Run</th>
              <th>Outcome</th>
              <th>Ledger</th>
              <th class="number wide">Took</th>
              <th class="number">Ended</th>
            </tr>
          </thead>
          <tbody>
            {data.map((run) => (
              <tr key={`${run.run} ${run.startedAt}`}>
                <td>
                  <Code text={run.run} />
                  <div class="quiet">
                    {run.kind}, source <bdi>{run.source}</bdi>
                  </div>
                </td>
                <td>
                  <span class={run.outcome === "complete" ? "outcome" : "outcome incomplete"}>
                    <i aria-hidden="true">{run.outcome === "complete" ? "✓" : "!"}</i>
                    {run.outcome}
                  </span>
                </td>
                <td>
                  <dl class="ledger">
                    {Object.entries(run.ledger).map(([name, count]) => (
                      <div key={name} class={count === 0 ? "zero" : undefined}>
                        <dt>{name}</dt>
                        <dd>{number(count)}</dd>
                      </div>
                    ))}
                  </dl>
                </td>
                <td class="number wide">{duration(Date.parse(run.endedAt) - Date.parse(run.startedAt))}</td>
                <td class="number">
                  <Time at={run.endedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
