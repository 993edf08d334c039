import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createWorker, type EsimEvents, type Handlers, type WebhookEvent } from "@esim-webhooks/core";
import { latestOnly, type SqliteTransaction, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { type EntryOptions, entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { openShop } from "./shop.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("handler_failed");

const folder = folderOfEachTest();
let path: string;
beforeEach(() => {
  path = join(folder.path, "events.db");
});

const never = 24 * 3_600_000;

/** Works the file until `enough` says so. */
async function work(
  handlers: Handlers<EsimEvents, SqliteTransaction>,
  enough: () => Promise<boolean>,
  options: { pollMs?: number } = {},
): Promise<void> {
  const inbox = sqliteInbox({ path, lane: ({ data }) => data.esimReference });
  const stopping = new AbortController();
  const running = createWorker(inbox, handlers, { backoff: () => 1, ...options }).run({
    signal: stopping.signal,
  });
  await expect.poll(enough).toBe(true);
  stopping.abort();
  await running;
  await inbox.close();
}

/** A process that puts one event on each request. */
async function startPutter(): Promise<{ put(id: string): void; end(): Promise<void> }> {
  const script = `
    import { createInterface } from "node:readline";
    import { sqliteInbox } from ${JSON.stringify(import.meta.resolve("@esim-webhooks/store-sqlite"))};
    const inbox = sqliteInbox({ path: process.argv[1] });
    await inbox.ready();
    console.log("ready");
    for await (const line of createInterface(process.stdin)) {
      const { receivedAt, body, ...entry } = JSON.parse(line);
      await inbox.put([{ ...entry, body: Buffer.from(body), receivedAt: new Date(receivedAt) }]);
    }
    await inbox.close();`;
  const args = ["--conditions=@esim-webhooks/source", "--input-type=module", "-e", script, path];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return {
    put(id) {
      const given = entry(id);
      child.stdin.write(`${JSON.stringify({ ...given, body: Buffer.from(given.body).toString() })}\n`);
    },
    async end() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

describe("a worker on SQLite", () => {
  it("hears of events that another process puts, without looking again by itself", async () => {
    const putter = await startPutter();
    const worked: string[] = [];
    let put = 0;
    await work(
      { "*": ({ id }) => void worked.push(id) },
      async () => {
        if (worked.length === put && put < 5) putter.put(`msg_${put++}`); // the next one once it is idle
        return worked.length === 5;
      },
      { pollMs: never },
    );
    expect(worked).toEqual(["msg_0", "msg_1", "msg_2", "msg_3", "msg_4"]);
    await putter.end();
  });

  it("commits what handlers write with the mark, once each, and tries again what was refused", async () => {
    const shop = openShop(path);
    const inbox = sqliteInbox({ path });
    const ids = Array.from({ length: 50 }, (_, n) => `msg_${String(n).padStart(2, "0")}`);
    await Promise.all(ids.map((id) => inbox.put([entry(id)])));
    await work(
      {
        "*": ({ id }, { tx, attempt }) =>
          tx.write(
            {
              sql: "insert into orders (event) select ? where ? > 1 or ? not like '%7'",
              parameters: [id, attempt, id],
            },
            { changes: 1 },
          ),
      },
      async () => (await inbox.count({ state: "done" })) === ids.length,
    );
    expect(shop.orders()).toEqual(ids);
    expect((await inbox.get({ source: "default", id: "msg_07" }))?.attempts).toBe(2);
    expect((await inbox.get({ source: "default", id: "msg_08" }))?.attempts).toBe(1);
    await inbox.close();
    shop.close();
  });

  it("skips no event without an esimReference: latestOnly knows of no state that it is about", async () => {
    const shop = openShop(path);
    const inbox = sqliteInbox({ path });
    const ended = (id: string, timestamp: string) =>
      entry(id, { type: "package.ended", timestamp, data: { esimReference: undefined } });
    const handler = latestOnly<WebhookEvent>({ state: "package" }, ({ id }, { tx }) =>
      tx.write({ sql: "insert into orders (event) values (?)", parameters: [id] }),
    );
    for (const [id, second] of [
      ["one", 5],
      ["another", 3],
    ] as const) {
      await inbox.put([ended(id, `2026-01-01T00:00:0${second}.000Z`)]);
      await work({ "package.*": handler }, async () => (await inbox.get(key(id)))?.state === "done");
    }
    expect(shop.orders()).toEqual(["another", "one"]);
    await inbox.close();
    shop.close();
  });

  it("skips what is older than what latestOnly has worked, and keeps eSIMs and states apart", async () => {
    const shop = openShop(path);
    const inbox = sqliteInbox({ path });
    const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
    const given: [string, EntryOptions][] = [
      ["newer", { timestamp: at(5), esim: "a" }],
      ["older", { timestamp: at(3), esim: "a" }],
      ["same", { timestamp: at(5), esim: "a", type: "esim.disabled" }],
      ["other esim", { timestamp: at(1), esim: "b" }],
      ["other state", { timestamp: at(1), esim: "a", type: "esim.mccswitch" }],
    ];
    const of = (state: string) =>
      latestOnly<WebhookEvent>({ state }, ({ id }, { tx }) =>
        tx.write({ sql: "insert into orders (event) values (?)", parameters: [id] }),
      );
    const profile = of("profile");
    const handlers = { "esim.enabled": profile, "esim.disabled": profile, "esim.mccswitch": of("network") };
    for (const [index, [id, options]] of given.entries()) {
      await inbox.put([entry(id, options)]);
      await work(handlers, async () => (await inbox.count({ state: "done" })) === index + 1);
    }
    expect(shop.orders()).toEqual(["newer", "other esim", "other state", "same"]);
    await inbox.close();
    shop.close();
  });
});
