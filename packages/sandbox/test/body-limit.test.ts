import { once } from "node:events";
import { connect } from "node:net";
import { startSandbox } from "@esim-webhooks/sandbox";
import { expect, it, onTestFinished } from "vitest";

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

it("refuses a body that is too large, with or without a length", async () => {
  const { controlUrl, url } = await start();
  const large = " ".repeat(1024 * 1024 + 1);
  for (const path of [`${controlUrl}/esims`, `${url}/auth/token`]) {
    expect((await fetch(path, { method: "POST", body: large })).status).toBe(413);
    expect((await fetch(path, chunked(large))).status).toBe(413);
  }
});
