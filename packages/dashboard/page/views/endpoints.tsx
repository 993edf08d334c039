import type { EndpointView } from "../../src/contract.ts";
import { useCall } from "../live.ts";
import { Code, Empty, EventLink, Heading, Panel, Stale, Time } from "../shown.tsx";

/** The partner API has a limit of calls: it is read rarely. */
const everyMs = 60_000;

export function EndpointsView() {
  const loaded = useCall("endpoints", {}, everyMs);
  const { data } = loaded;
  return (
    <>
      <Heading>Endpoint</Heading>
      <Stale of={loaded} />
      {data?.length === 0 && (
        <Empty title="No endpoint is registered">
          Nothing is delivered until one is: esim-webhooks endpoint ensure.
        </Empty>
      )}
      {data?.map((endpoint) => (
        <Endpoint key={endpoint.reference} endpoint={endpoint} />
      ))}
    </>
  );
}

function Endpoint({ endpoint }: { readonly endpoint: EndpointView }) {
  const { unhandled, notSubscribed, deliveries } = endpoint;
  return (
    <>
      <div class="event-line">
        <strong>
          <bdi>{endpoint.url}</bdi>
        </strong>
        <Code text={endpoint.reference} />
        <span class={endpoint.isActive ? "outcome" : "outcome incomplete"}>
          <i aria-hidden="true">{endpoint.isActive ? "✓" : "!"}</i>
          {endpoint.isActive ? "active" : "not active: nothing is delivered"}
        </span>
      </div>
      <div class="columns three">
        <Types title="Subscribed" types={endpoint.subscribed} none="It is subscribed to no type." />
        {unhandled !== null && (
          <Types
            title="Subscribed, without a handler"
            types={unhandled}
            none="Each subscribed type has a handler."
          />
        )}
        {notSubscribed !== null && (
          <Types
            title="Handled, not subscribed"
            types={notSubscribed}
            none="Each handled type is subscribed."
          />
        )}
      </div>
      <Panel title="Last deliveries">
        {deliveries.length === 0 ? (
          <Empty title="Nothing was delivered yet" />
        ) : (
          <table>
            <thead>
              <tr>
                <th>Status</th>
                <th>Type</th>
                <th class="wide">Event</th>
                <th class="number">HTTP</th>
                <th class="number wide">Attempt</th>
                <th class="number">Sent</th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <tr key={`${delivery.id} ${delivery.attempt}`}>
                  <td>
                    <span class={delivery.status === "delivered" ? "outcome" : "outcome incomplete"}>
                      <i aria-hidden="true">{delivery.status === "delivered" ? "✓" : "!"}</i>
                      {delivery.status}
                    </span>
                  </td>
                  <td>
                    <bdi>{delivery.type}</bdi>
                  </td>
                  <td class="wide">
                    <EventLink event={{ source: "default", id: delivery.id }} />
                  </td>
                  <td class="number">{delivery.httpStatus ?? "–"}</td>
                  <td class="number wide">{delivery.attempt}</td>
                  <td class="number">
                    <Time at={delivery.at} none="not sent yet" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
    </>
  );
}

function Types({
  title,
  types,
  none,
}: {
  readonly title: string;
  readonly types: readonly string[];
  readonly none: string;
}) {
  return (
    <Panel title={title}>
      {types.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <ul class="plain">
          {types.map((type) => (
            <li key={type}>
              <bdi>{type}</bdi>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
