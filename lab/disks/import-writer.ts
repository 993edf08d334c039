import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sampleData } from "@esim-webhooks/core/testing";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expectAll, filesWriter, type Writer } from "./writer.ts";

/** More than the reader waits for before it knows the form of the dump. */
const chunkBytes = 70_000;
const ids = ["msg_1", "msg_2", "msg_3"];
const lines = ids.flatMap((id) => [JSON.stringify(recordOf(id)), `bad line after ${id}`]);
const badRecords = ids.map((_, n) => 2 * n + 2);
const disconnected = new Error("The lab ends the input of this import early.");

/** An import into an inbox that fails twice and is continued, with its checkpoint and its rejects. */
export const importWriter: Writer = {
  ...filesWriter,
  name: "import",
  async write(folder, acknowledge) {
    const name = randomUUID();
    for (const end of [2, 4]) {
      await importUntil(folder, name, end).catch((error: unknown) => {
        if (error !== disconnected) throw error;
      });
    }
    await importUntil(folder, name, lines.length);
    acknowledge(name);
  },
  async check(folder, acknowledged) {
    const begun = readdirSync(folder).filter((file) => file.endsWith(".checkpoint"));
    const names = begun.map((file) => file.slice(0, -".checkpoint".length));
    for (const name of names) await importUntil(folder, name, lines.length);
    for (const name of new Set([...names, ...acknowledged])) expectRejects(join(folder, `${name}.rejects`));
    if (acknowledged.length === 0) return;
    const inbox = inboxIn(folder);
    const { rows } = await inbox.list().finally(() => inbox.close());
    expectAll(ids, (id) => rows.some((row) => row.id === id));
  },
};

const inboxIn = (folder: string) => sqliteInbox({ path: join(folder, "events.db"), timeoutMs: 60_000 });

/** Imports the dump, whose input fails after this number of lines, unless that is its end. */
async function importUntil(folder: string, name: string, end: number): Promise<void> {
  async function* input() {
    yield Buffer.from(
      lines
        .slice(0, end)
        .map((line) => `${line}\n`)
        .join(""),
    );
    if (end < lines.length) throw disconnected;
  }
  const inbox = inboxIn(folder);
  const [checkpointFile, rejectsFile] = ["checkpoint", "rejects"].map((kind) =>
    join(folder, `${name}.${kind}`),
  );
  try {
    await importDeliveries(input(), inbox, { checkpointFile, rejectsFile, trustUnsigned: true });
  } finally {
    await inbox.close();
  }
}

function expectRejects(file: string): void {
  const rejects = readFileSync(file, "utf8").trimEnd().split("\n");
  const found = rejects.map((line) => JSON.parse(line).position.record);
  if (`${found}` !== `${badRecords}`)
    throw new Error(`the rejects are of the records ${found}, not of ${badRecords}`);
}

function recordOf(id: string): object {
  const timestamp = "2026-11-20T09:30:00.000Z";
  const delivery = {
    eventType: "esim.enabled",
    eventId: id,
    status: "exhausted",
    attemptNumber: 10,
    httpStatus: 503,
  };
  const payload = { type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
  const times = { nextRetryAt: null, sentAt: timestamp, deliveredAt: null };
  return { ...delivery, payload, responseBody: "x".repeat(chunkBytes), ...times };
}
