import { useSignal } from "@preact/signals";
import type { DeliveryView, EndpointView } from "../../src/views.ts";
import { sayFailure } from "../ask.tsx";
import { call } from "../call.ts";
import { actions, useCall } from "../live.ts";
import { Code, Empty, EventLink, Heading, number, Panel, plural, Stale, Time } from "../shown.tsx";

/** The partner API limits calls, so it is read rarely. */
const everyMs = 60_000;

export function EndpointsView() {
  const loaded = useCall("endpoints", {}, everyMs);
  const isBusy = useSignal(false);
  const { data } = loaded;
  async function refresh(): Promise<void> {
    if (isBusy.value) return;
    isBusy.value = true;
    await call("endpoints", { refresh: true }).catch(sayFailure);
    isBusy.value = false;
    actions.value += 1; // shows what the server has just read
  }
  return (
    <>
      <Heading
        aside={
          <>
            {data !== undefined && (
              <span class="quiet">
                read <Time at={data.readAt} />
              </span>
            )}
            <button type="button" class="button" aria-disabled={isBusy.value} onClick={refresh}>
              {isBusy.value ? "Reading…" : "Refresh"}
            </button>
          </>
        }
      >
        Endpoint
      </Heading>
      <Stale of={loaded} />
      {data?.endpoints.length === 0 && (
        <Empty title="No endpoint is registered">
          Nothing is delivered until one is: esim-webhooks endpoint ensure.
        </Empty>
      )}
      {data?.endpoints.map((endpoint) => (
        <Endpoint key={endpoint.reference} endpoint={endpoint} />
      ))}
    </>
  );
}

function Endpoint({ endpoint }: { readonly endpoint: EndpointView }) {
  const { unhandled, notSubscribed, deliveries, compared, missed, missedCount } = endpoint;
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
      <Panel
        title="Missed"
        aside={<span class="quiet">of the newest {plural(compared, "delivery", "deliveries")}</span>}
      >
        {missedCount === 0 ? (
          <p class="quiet">The inbox has each event that the service has delivered or will not send again.</p>
        ) : (
          <>
            <p class="missed">
              <strong>{plural(missedCount, "event")}</strong> {missedCount === 1 ? "is" : "are"} not in the
              inbox, and the service will not send {missedCount === 1 ? "it" : "them"} again. To recover{" "}
              {missedCount === 1 ? "it" : "them"}: <code>esim-webhooks reconcile</code>
              {missed.length < missedCount && `. These are the newest ${number(missed.length)}`}.
            </p>
            <Deliveries deliveries={missed} />
          </>
        )}
      </Panel>
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
          <Deliveries deliveries={deliveries} />
        )}
      </Panel>
    </>
  );
}

function Deliveries({ deliveries }: { readonly deliveries: readonly DeliveryView[] }) {
  return (
    <table class="deliveries">
      <thead>
        <tr>
          <th>Status</th>
          <th>Type</th>
          <th class="wide">Event</th>
          <th class="number wide">HTTP</th>
          <th class="number wide">Attempt</th>
          <th class="number">Sent</th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery, index) => (
          <tr key={`${delivery.id} ${index}`}>
            <td>
              <span class={delivery.status === "delivered" ? "outcome" : "outcome incomplete"}>
                <i aria-hidden="true">{delivery.status === "delivered" ? "✓" : "!"}</i>
                <bdi>{delivery.status ?? "no status"}</bdi>
              </span>
            </td>
            <td class="delivery-type">
              <bdi>{delivery.type ?? "no type"}</bdi>
              <div class="narrow">
                <DeliveredEvent delivery={delivery} />
              </div>
            </td>
            <td class="wide">
              <DeliveredEvent delivery={delivery} />
            </td>
            <td class="number wide">{delivery.httpStatus ?? "–"}</td>
            <td class="number wide">{delivery.attempt ?? "–"}</td>
            <td class="number">
              <Time at={delivery.at} none="not sent yet" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DeliveredEvent({ delivery: { id, event } }: { readonly delivery: DeliveryView }) {
  if (event !== null) return <EventLink event={event} />;
  if (id === null) return <span class="quiet">no id</span>;
  return (
    <>
      <Code text={id} />
      <span class="tag">not in the inbox</span>
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
