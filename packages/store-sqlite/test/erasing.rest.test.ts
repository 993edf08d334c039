import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  eraseSubject,
  type Logger,
  type Settlement,
  type TakenEvent,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { erasedSubject } from "@esim-webhooks/core/engine";
import { latestOnly, type SqliteInbox, sqliteBackup, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { laneOf, testErasure, workUntilIdle } from "../../../test/erasure.ts";
import { entry, key } from "../../../test/inbox-entry.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { hasWalResetBug } from "../src/database/journal.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const hasLog = !hasWalResetBug(process.versions["sqlite"] ?? "");
const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
});

function open(options: { readonly logger?: Logger; readonly keepBodies?: boolean } = {}): SqliteInbox {
  const inbox = sqliteInbox({ path, lane: laneOf, ...options });
  onTestFinished(() => inbox.close());
  return inbox;
}

/** Which of SQLite's files hold a text. */
function filesWith(text: string): string[] {
  return ["", "-wal", "-shm"].filter(
    (end) => existsSync(path + end) && readFileSync(path + end).includes(text),
  );
}

/** Events of some eSIMs, one after the other, in every state, some with errors, histories, notes of an import and large bodies. */
async function fill(inbox: SqliteInbox, esims: readonly string[]): Promise<void> {
  for (let n = 0; n < 40; n += 1) {
    await inbox.put(
      esims.map((esim) => {
        const made = entry(`${esim.length}-${esims.indexOf(esim)}-${n}`, { esim });
        const body = Buffer.concat([made.body, Buffer.alloc(n % 7 === 0 ? 9000 : 0, " "), Buffer.from(esim)]);
        const delivery = { note: `about ${esim}` };
        return { ...made, body, ...(n % 3 === 0 && { replay: { run: "a", rebuilt: true, delivery } }) };
      }),
    );
    const taken = await inbox.take({ limit: esims.length, leaseMs: 60_000 });
    await inbox.settle(
      taken.map((one) => {
        const states = ["dead", "retry", "unhandled", "given_back", "done"] as const;
        const settlement = settlementOf(one, states[n % 5] as (typeof states)[0]);
        return settlement.state === "retry" ? { ...settlement, afterMs: 3_600_000 } : settlement;
      }),
    );
  }
}

describe("after an erasure and a vacuum, the files hold nothing of what was erased", () => {
  it.each([false, true])("with the option keepBodies: %s", async (keepBodies) => {
    const [one, ...others] = Array.from({ length: 5 }, () => `esim_${randomBytes(12).toString("hex")}`);
    const inbox = open({ keepBodies });
    await fill(inbox, [one as string, ...others]);
    const shop = openShop(path);
    shop.run(
      `insert into esim_webhooks_latest values ('esim.lifecycle', '${one}', 1000), ('a', '${one}', 1)`,
    );
    shop.close();
    expect(filesWith(one as string)).toContain(hasLog ? "-wal" : "");
    const { events } = await eraseSubject(inbox, one as string);
    expect(Object.values(events).reduce((sum, count) => sum + count, 0)).toBe(40);
    expect(filesWith(one as string)).not.toContain("-wal"); // unused ends of pages may hold parts, until a vacuum
    await inbox.close();
    const own = openShop(path);
    own.run("vacuum");
    own.close();
    expect(filesWith(one as string)).toEqual([]);
    expect(filesWith(others[0] as string)).toEqual([""]);
  });
});

it("after any history, no file, no backup and no line of log has anything of an erased eSIM", async () => {
  let runs = 0;
  await testErasure(async (logger) => {
    runs += 1;
    path = join(folder.path, `${runs}.db`);
    const backup = `${path}.backup`;
    const inbox = open({ logger, keepBodies: runs % 2 === 0 });
    return {
      inbox,
      work: (handlers, logger) => workUntilIdle(inbox, handlers, logger),
      async kept() {
        await sqliteBackup({ path }, backup);
        await inbox.close();
        const own = openShop(path);
        own.run("vacuum");
        own.close();
        const files = [path, `${path}-wal`, `${path}-shm`, backup].filter((file) => existsSync(file));
        return new Map(files.map((file) => [file, readFileSync(file)]));
      },
    };
  }, 12);
});

function settlementOf(
  one: TakenEvent,
  state: "done" | "dead" | "retry" | "unhandled" | "given_back",
): Settlement {
  const error = `Error: no SIM for ${Buffer.from(one.body).toString().trim()}`;
  const report = { reason: "failed", durationMs: 7, error, worker: "host:1:a" } as const;
  if (state === "dead") return { ...one, state, error, report };
  if (state === "retry") return { ...one, state, afterMs: 0, error, report };
  return { ...one, state };
}

// without a log, no other connection can read while a change is made
it.runIf(hasLog)(
  "erases although another connection is reading, and says that the log could not be emptied",
  async () => {
    const logged: unknown[] = [];
    const logger = loggerWith({ warn: (fields) => logged.push(fields) });
    const inbox = open({ logger });
    await inbox.put([entry("msg_1", { esim: "E-planted" })]);
    const reader = new DatabaseSync(path);
    reader.exec("begin; select * from esim_webhooks_event");
    reader.prepare("select id from esim_webhooks_event").all();
    expect(await inbox.erase("E-planted")).toMatchObject({ ready: 1 });
    expect(logged).toEqual([expect.objectContaining({ code: "log_not_truncated" })]);
    reader.close();
    expect(await inbox.erase("E-planted")).toMatchObject({ ready: 0 });
    expect(filesWith("E-planted")).not.toContain("-wal");
  },
);

it("erases at most as many events in one call as it is asked to, the earliest received first", async () => {
  const inbox = open();
  const ids = ["msg_c", "msg_a", "msg_b"];
  await inbox.put(ids.map((id, n) => ({ ...entry(id, { esim: "E1" }), receivedAt: new Date(1000 * n) })));
  expect(await inbox.erase("E1", 2)).toMatchObject({ ready: 2 });
  const erasedAt = await Promise.all(ids.map(async (id) => (await inbox.get(key(id)))?.erasedAt));
  expect(erasedAt).toEqual([expect.any(Date), expect.any(Date), null]);
});

it("keeps how far latestOnly has come for an erased eSIM, so that an older event still is skipped", async () => {
  const inbox = open();
  const shop = openShop(path);
  onTestFinished(() => shop.close());
  const handler = latestOnly<WebhookEvent>({ state: "profile" }, ({ id }, { tx }) =>
    tx.write({ sql: "insert into orders (event) values (?)", parameters: [id] }),
  );
  async function handle(id: string, timestamp: string): Promise<void> {
    const stored = entry(id, { esim: "E1", timestamp });
    await inbox.put([stored]);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    if (lease === undefined || stored.event === null) throw new Error("nothing was taken");
    const context = { receivedAt: stored.receivedAt, replayed: false };
    await inbox.transact(lease, async (tx) => {
      await handler(stored.event as WebhookEvent, { ...context, tx, discard: () => {} } as never);
      return true;
    });
    await inbox.settle([{ ...lease, state: "done" }]);
  }
  await handle("msg_1", "2026-11-20T10:00:02Z");
  await inbox.erase("E1");
  await handle("msg_2", "2026-11-20T10:00:01Z"); // older
  await handle("msg_3", "2026-11-20T10:00:03Z");
  expect(shop.orders()).toEqual(["msg_1", "msg_3"]);
  await inbox.erase("E1");
  expect(shop.all("select subject, occurred_at from esim_webhooks_latest")).toEqual([
    { subject: erasedSubject("E1"), occurred_at: Date.parse("2026-11-20T10:00:03Z") },
  ]);
});
