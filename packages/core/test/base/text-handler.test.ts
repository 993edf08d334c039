import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { pipelined } from "../../../../test/pipelined.ts";
import { textHandler } from "../../src/base/text-handler.ts";

/** A handler whose answers wait for `open`. */
async function gated() {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  let calls = 0;
  const handler = textHandler("text/plain", async () => {
    calls += 1;
    entered.resolve();
    await gate.promise;
    return { status: 200, text: "answer" };
  });
  const listener = Promise.withResolvers<void>();
  const server = await listen(
    (request, response) => {
      void handler.node(request, response);
      if (calls === 1) request.socket.once("close", listener.resolve);
    },
    "/",
    async () => {},
  );
  onTestFinished(() => server.close());
  return {
    handler,
    url: server.url,
    open: gate.resolve,
    entered: entered.promise,
    left: listener.promise,
    calls: () => calls,
  };
}

it("works on few of 5,000 requests of one connection, answers the next one 503, and reads no more of them", async () => {
  const { url, open, entered, calls } = await gated();
  const statuses = pipelined(url, 5000);
  await entered;
  setTimeout(open);
  expect((await statuses).length).toBeLessThan(5000);
  expect(calls()).toBeLessThan(200);
});

it("answers again once the connection that held all places is gone", async () => {
  const { url, open, entered, left, calls } = await gated();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(100));
  await entered;
  expect((await fetch(url)).status).toBe(503);
  expect(calls()).toBe(32);
  socket.destroy();
  await left;
  open();
  expect((await fetch(url)).status).toBe(200);
});

it("works on 32 fetch requests at a time", async () => {
  const { handler, open } = await gated();
  const answers = Array.from({ length: 40 }, () => handler());
  open();
  const statuses = (await Promise.all(answers)).map(({ status, headers }) => [
    status,
    headers.get("retry-after"),
  ]);
  expect(statuses.filter(([status]) => status === 200)).toHaveLength(32);
  expect(statuses.at(-1)).toEqual([503, "1"]);
  expect((await handler()).status).toBe(200);
});
