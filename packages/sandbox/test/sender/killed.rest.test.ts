import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startEndpoint } from "./endpoint.ts";

function startProcess(file: string, url: string): ChildProcess {
  const script = join(import.meta.dirname, "sending-process.ts");
  return spawn(process.execPath, ["--conditions=@esim-webhooks/source", script, file, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("a process that is killed in the middle finds its attempts under way at the next start, and makes them again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-sandbox-"));
  let isHanging = true;
  await using endpoint = await startEndpoint((n) => (isHanging && n > 100 ? undefined : 200));
  const file = join(folder, "sandbox.db");
  try {
    const killed = startProcess(file, endpoint.url);
    await expect.poll(() => endpoint.got.length, { timeout: 120_000 }).toBe(164); // 100 answered, and 64 that hang
    killed.kill("SIGKILL");
    await once(killed, "exit");
    isHanging = false;

    const next = startProcess(file, endpoint.url);
    const [printed] = await Promise.all([text(next.stdout as NodeJS.ReadableStream), once(next, "exit")]);
    const deliveries = JSON.parse(printed) as { status: string; attemptNumber: number; eventId: string }[];
    expect(deliveries).toHaveLength(300);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ status: "delivered", attemptNumber: 1 });
    }
    const got = endpoint.got.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(got)).toEqual(new Set(deliveries.map(({ eventId }) => eventId)));
    expect(got.length).toBeGreaterThanOrEqual(364); // those under way came twice
  } finally {
    await rm(folder, { recursive: true });
  }
});
