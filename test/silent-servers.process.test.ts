import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { runNode } from "./run.ts";

/** A server that accepts connections, reads what they send, and neither answers nor closes them. */
async function silentServer(): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.resume();
    onTestFinished(() => void socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each(["redis", "bullmq", "postgres"])(
  "createRunner: a process whose server is silent (%s) ends after SIGTERM",
  async (engine) => {
    const { child, line, ended } = runNode(["test/silent-process.ts"], {
      ENGINE: engine,
      SERVER: await silentServer(),
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await line(/^checked$/);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, output: "checked\nresolved\n" });
  },
);
