import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startSandbox } from "@esim-webhooks/sandbox";
import { Hono } from "hono";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../src/listener.ts";

async function start() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Sends a body in chunks, without saying how long it is. */
function chunked(text: string): RequestInit {
  const body = ReadableStream.from([Buffer.from(text)]) as ReadableStream<Uint8Array>;
  return { method: "POST", body, duplex: "half" } as RequestInit;
}

it("takes calls without a body, and bodies without a length", async () => {
  const { controlUrl, url } = await start();
  expect((await fetch(`${controlUrl}/faults`, { method: "DELETE" })).status).toBe(200);
  expect((await fetch(`${controlUrl}/esims`, chunked("{}"))).status).toBe(201);
  expect((await fetch(`${url}/management/webhooks/none`, { method: "DELETE" })).status).toBe(401);
  expect((await fetch(`${url}/auth/token`, chunked("{}"))).status).toBe(400);
});

it("stops reading a body without a length at its limit", async () => {
  const { controlUrl, url } = await start();
  for (const path of [`${controlUrl}/esims`, `${url}/auth/token`]) {
    let sent = 0;
    const { port, pathname } = new URL(path);
    const socket = connect(Number(port), "127.0.0.1");
    const answered = once(socket, "data");
    socket.on("error", () => {}); // the server closes it
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const piece = `10000\r\n${" ".repeat(0x10000)}\r\n`;
    for (; sent < 17; sent++) socket.write(piece); // and its end never comes
    const [answer] = await answered;
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  }
});

it("answers 503 while the bodies that others are sending have 64 MiB together, and takes calls again afterwards", async () => {
  const { controlUrl } = await start();
  const path = `${controlUrl}/esims`;
  const silent = await Promise.all(Array.from({ length: 64 }, () => silentBody(path)));
  const answered = async () => (await fetch(path, { method: "POST", body: "{}" })).status;
  expect(await answered()).toBe(503);
  for (const socket of silent) socket.destroy();
  await expect.poll(answered).toBe(201);
});

it("answers 408 to a body that does not arrive in time", async () => {
  const app = new Hono()
    .post("/", async ({ req, text }) => text(await req.text()))
    .onError((_, { text }) => text("cut", 500)); // without it, Hono prints the error
  const { url, close } = await listen(app, 0, { name: "a test", option: "port" }, 200);
  onTestFinished(close);
  const socket = await silentBody(url);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /);
});

/** Announces a body of 1 MiB, and sends none of it. Resolves once the request has begun. */
async function silentBody(url: string): Promise<Socket> {
  const { port, host, pathname } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {}); // the server closes it
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${1024 * 1024}\r\nexpect: 100-continue\r\n\r\n`,
  );
  await once(socket, "data");
  return socket;
}

it("refuses a body that is too large, with or without a length", async () => {
  const { controlUrl, url } = await start();
  const large = " ".repeat(1024 * 1024 + 1);
  for (const path of [`${controlUrl}/esims`, `${url}/auth/token`]) {
    expect((await fetch(path, { method: "POST", body: large })).status).toBe(413);
    expect((await fetch(path, chunked(large))).status).toBe(413);
  }
});
