// node --test
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient } from "@esim-webhooks/client";
import { nodeHandler } from "@esim-webhooks/core";
import { startSandbox } from "@esim-webhooks/sandbox";

test("an order's event arrives after an outage, once", async (context) => {
  // the service, whose clock stands still until advance(…)
  const sandbox = await startSandbox({ clock: "manual" });
  context.after(() => sandbox.close());
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });

  // the endpoint
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
  const { signingSecret } = await api.webhooks.create({ url, eventTypes: ["esim.assigned"] });

  // the receiver
  const assigned: string[] = [];
  const receive = nodeHandler(
    { "esim.assigned": ({ data }) => void assigned.push(data.esimReference) },
    { secret: signingSecret },
  );
  let isDown = true;
  server.on("request", (request, response) => {
    if (isDown) response.writeHead(503).end();
    else receive(request, response);
  });

  const answer = await api.esims.order({});
  await sandbox.advance("1h"); // its first attempts are answered 503
  assert.deepEqual(assigned, []);
  isDown = false;
  await sandbox.advance("8h");
  assert.deepEqual(assigned, [(answer as { data: { esimReference: string } }).data.esimReference]);
});
