import { expect, it } from "vitest";
import { addClient } from "../../src/account/clients.ts";
import { listDeliveries } from "../../src/webhook/deliveries.ts";
import { createEndpoint } from "../../src/webhook/endpoints.ts";
import { testService } from "../service.ts";

it("pages through a million deliveries, each once, the newest first", () => {
  const count = 1_000_000;
  const service = testService();
  const { clientId } = addClient(service);
  const { webhookEndpointReference } = createEndpoint(service, clientId, {
    url: "http://127.0.0.1:3000/",
    eventTypes: ["esim.assigned"],
  });
  service.db.run(
    `insert into events (eventId, clientReference, eventType, body, createdAt)
     with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < ${count})
     select 'msg_' || number, ?, 'esim.assigned', '{"type":"esim.assigned","data":{}}', ? + number / 3 from numbers`,
    clientId,
    service.clock.now() - count, // three in each millisecond
  );
  service.db.run(
    `insert into deliveries (endpointSequence, eventSequence, eventId, status, attemptNumber, createdAt)
     select endpoints.sequence, events.sequence, eventId, 'delivered', 1, events.createdAt from events, endpoints`,
  );

  let expected = count;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = listDeliveries(service, clientId, webhookEndpointReference, { limit: 100, cursor });
    for (const { eventId } of page.data) {
      if (eventId !== `msg_${expected}`) expect(eventId).toBe(`msg_${expected}`);
      expected -= 1;
    }
    cursor = page.pagination.nextCursor;
  }
  expect(expected).toBe(0);
});
