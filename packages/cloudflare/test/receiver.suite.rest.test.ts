import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { receiverSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { listen } from "../../../test/listen.ts";
import type { TestServer } from "../../../test/servers/index.ts";
import { bundleWorker, startWorkerd } from "../../../test/servers/workerd.ts";
import { type Answer, answerOn, send, sendHalf } from "../../conformance/src/receiver/wire.ts";

let workerd: TestServer;
let wire: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  const outside = join(import.meta.dirname, "wire-outside.ts");
  const script = await bundleWorker(join(import.meta.dirname, "receiver-worker.ts"), [
    {
      name: "wire-outside",
      setup: ({ onResolve }) => onResolve({ filter: /^\.\/wire\.ts$/ }, () => ({ path: outside })),
    },
  ]);
  workerd = await startWorkerd(script);
  wire = await listen(answerCall, "/", async () => {});
});
afterAll(async () => {
  await workerd.close();
  await wire.close();
});

/** Runs the test of this name on workerd. */
async function runThere(name: string): Promise<void> {
  const query = new URLSearchParams({ name, wire: wire.url });
  const response = await fetch(`${workerd.url}/run?${query}`);
  const text = await response.text();
  if (text !== "passed") throw new Error(text);
}

/** The connections of `wire-outside.ts`, and the answer on each. */
const sockets: { readonly socket: Socket; readonly answer: Promise<Answer> }[] = [];

const calls: Record<string, (...args: never[]) => unknown> = {
  send,
  async sendHalf(...args: Parameters<typeof sendHalf>) {
    const socket = await sendHalf(...args);
    const answer = answerOn(socket);
    answer.catch(() => {}); // of a connection that the suite resets
    return sockets.push({ socket, answer }) - 1;
  },
  answerOn: (id: number) => sockets[id]?.answer,
  write: (id: number, text: string) => void sockets[id]?.socket.write(text),
  destroy: (id: number) => void sockets[id]?.socket.destroy(),
  resetAndDestroy: (id: number) => void sockets[id]?.socket.resetAndDestroy(),
};

const answerCall: RequestListener = async (request, response) => {
  const { name, args } = JSON.parse(await text(request), revived);
  const answer = await Promise.resolve(calls[name]?.(...(args as never[]))).then(
    (result) => ({ result }),
    (error: Error) => ({ error: String(error.stack) }),
  );
  response.end(JSON.stringify(answer));
};

/** A Buffer, as it writes itself as JSON. */
const revived = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "type" in value && value.type === "Buffer"
    ? Buffer.from((value as unknown as { data: number[] }).data)
    : value;

/** workerd decodes headers as UTF-8, and has U+FFFD for what is not. Such a delivery is answered 401. */
const latin1 = new Set([
  "takes an id that is sent in latin1, signed in latin1 or in UTF-8",
  "runs the handler once for an id that is sent in UTF-8 and then in latin1",
]);

let suite = "";
const nowhere = () => Promise.reject(new Error("The suite runs on workerd."));
// the names of the tests, which have other bodies here
receiverSuite("webhookHandler", nowhere, {
  describe(name, body) {
    suite = name;
    describe(`on workerd, ${name}`, body);
  },
  it(name) {
    const fullName = `${suite}: ${name}`;
    (latin1.has(name) ? it.fails : it)(name, () => runThere(fullName));
  },
});
