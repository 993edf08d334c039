import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

it("a delivery that offers h2c is accepted beside a WebSocket server, as docs/frameworks.md shows", async () => {
  const secret = newSecret();
  const server = createServer(
    { shouldUpgradeCallback: ({ headers }) => headers.upgrade === "websocket" },
    nodeHandler({ "*": () => {} }, { secret }),
  );
  server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 426 Upgrade Required\r\n\r\n"));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { headers, body } = signedDelivery(secret);
  const offered = { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "AAM" };
  const lines = Object.entries({
    Host: "a",
    ...headers,
    ...offered,
    "Content-Length": Buffer.byteLength(body),
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`POST / HTTP/1.1\r\n${lines.map((line) => line.join(": ")).join("\r\n")}\r\n\r\n${body}`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
});
