import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { openSideServer } from "../../src/program/http-server.ts";

const at = { host: "127.0.0.1", port: 0, flags: { host: "--host", port: "--port" } };

async function sideServer() {
  const opened = await openSideServer((_, response) => response.end("answer"), at);
  onTestFinished(async () => {
    opened.server.close();
    opened.server.closeAllConnections();
    await once(opened.server, "close");
  });
  return opened;
}

it("works on one request of each connection beside the receiver, and closes it", async () => {
  const { url } = await sideServer();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1000));
  const answers = await text(socket); // until the server closes it
  expect(answers.split("answer")).toHaveLength(2);
  expect(answers).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close/i);
});

it("gives a request beside the receiver seconds to arrive, and ends one that was sent by half", async () => {
  const { server, url } = await sideServer();
  expect([server.headersTimeout, server.requestTimeout]).toEqual([5000, 5000]);
  server.headersTimeout = 1;
  server.requestTimeout = 1;
  const { hostname, port } = new URL(url);
  const halves = [
    "GET / HTTP/1.1\r\nhost:",
    "GET / HTTP/1.1\r\nhost: a\r\n",
    "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{",
  ];
  const answers = halves.map(async (half) => {
    const socket = connect(Number(port), hostname);
    socket.write(half);
    return (await text(socket)).slice(0, 12); // until the server closes it
  });
  expect(await Promise.all(answers)).toEqual(["HTTP/1.1 408", "HTTP/1.1 408", "HTTP/1.1 200"]);
});
