import { join } from "node:path";
import { createWorker } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect } from "vitest";
import { openSqliteHistory } from "../../../lab/histories.ts";
import { type Run, runNode } from "../../../test/run.ts";
import { openShop } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const processes = 3;

/**
 * Kills processes that put and work on one file (SIGKILL), so often, each at another moment of its life. Then every event that
 * was acknowledged must be there, and have had its effect once.
 */
export async function expectNothingLostBy(kills: number): Promise<void> {
  const folder = temporaryFolder();
  const path = join(folder.path, "events.db");
  const shop = openShop(path);
  const inbox = sqliteInbox({ path });
  await inbox.migrate();
  await inbox.close();
  const history = openSqliteHistory(path);
  let started = 0;
  const acknowledged: string[] = [];
  const start = (): Run =>
    runNode(["packages/store-sqlite/test/fire-process.ts", path, `p${++started}`, "5", "100", "1000000"]);

  async function end(run: Run, signal: NodeJS.Signals): Promise<void> {
    run.child.kill(signal);
    const { output } = await run.ended;
    for (const [, id = ""] of output.matchAll(/^acknowledged (\S+)$/gm)) acknowledged.push(id);
  }

  /** Kills one after the other, each a number of acknowledged events after it began. */
  async function killOn(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const run = start();
      await run.line(new RegExp(`_${1 + (n % 7) * 20}$`));
      await end(run, "SIGKILL");
    }
  }

  const shares = Array.from({ length: processes }, (_, n) => Math.ceil((kills - n) / processes));
  await Promise.all(shares.map(killOn));
  const last = start();
  await last.line(/_20$/);
  await end(last, "SIGTERM");
  await drain(path);

  expect(acknowledged.length).toBeGreaterThan(kills);
  const orders = shop.orders();
  const once = new Set(orders);
  expect(orders.length).toBe(once.size);
  expect(acknowledged.filter((id) => !once.has(id))).toEqual([]);
  expect(shop.all("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  const { seen, unknown } = await history.check();
  expect(unknown).toEqual([]);
  expect(seen.get("lease end")).toBeGreaterThan(0);
  await history.close();
  shop.close();
  folder.remove();
}

/** Works what is left, once the leases of those who were killed have ended. */
async function drain(path: string): Promise<void> {
  const inbox = sqliteInbox({ path });
  const stopping = new AbortController();
  const working = createWorker(inbox, {
    "*": ({ id }, { tx }) => tx.write({ sql: "insert into orders (event) values (?)", parameters: [id] }),
  }).run({ signal: stopping.signal });
  await expect
    .poll(
      async () => {
        const { ready, leased } = (await inbox.stats()).states;
        return ready + leased;
      },
      { timeout: 120_000 },
    )
    .toBe(0);
  stopping.abort();
  await working;
  await inbox.close();
}
