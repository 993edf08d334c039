// Attacks on workers: handlers that block or kill their process, processes that freeze, and late starts.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { sql } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../packages/store-sqlite/test/temporary-folder.ts";
import { createData, openInbox, start } from "../inbox-data.ts";
import { entry } from "../inbox-entry.ts";
import { runNode } from "../run.ts";
import { postgresUrl } from "../servers/shared.ts";

it("a worker that is killed with what it has taken leaves all of it to the next one, once", async () => {
  const data = await createData(postgresUrl);
  const inbox = openInbox(postgresUrl, { schema: data.schema });
  await inbox.migrate();
  await inbox.put(Array.from({ length: 40 }, (_, n) => entry(`msg_${n}`, { esim: `e${n}` })));
  const options = JSON.stringify({ leaseMs: 2000, pollMs: 50, concurrency: 20 });
  const environment = { DATABASE_URL: postgresUrl, SCHEMA: data.schema, OPTIONS: options };
  const killed = start({ ...environment, WAIT: "" });
  await killed.line(/has written/);
  killed.child.kill("SIGKILL");
  await killed.ended;
  start(environment);
  await expect.poll(() => data.states()).toEqual({ done: 40 });
  expect(await data.effects()).toEqual({ effects: 40, events: 40 });
});

/** An inbox of the test's own, the environment that a worker in another process opens it with, and a way to end all leases. */
const inboxes = {
  async Postgres() {
    const { schema, db } = await createData(postgresUrl);
    const inbox = openInbox(postgresUrl, { schema });
    await inbox.migrate();
    const end = sql`update ${sql.id(schema, "event")} set leased_until = clock_timestamp() where state = 'leased'`;
    const endLeases = async () => void (await end.execute(db));
    return { inbox, environment: { DATABASE_URL: postgresUrl, SCHEMA: schema }, endLeases };
  },
  async SQLite() {
    const folder = temporaryFolder();
    const path = join(folder.path, "events.db");
    const inbox = sqliteInbox({ path, timeoutMs: 60_000 });
    await inbox.ready();
    const database = new DatabaseSync(path, { timeout: 60_000 });
    onTestFinished(async () => {
      database.close();
      await inbox.close();
      folder.remove();
    });
    const endLeases = async () =>
      database.exec("update esim_webhooks_event set leased_until = 1000 where state = 'leased'");
    return { inbox, environment: { FILE: path }, endLeases };
  },
};

it.each(["Postgres", "SQLite"] as const)(
  "an event that kills its process at every attempt is counted out, and the 19 taken with it on %s are done",
  async (store) => {
    const { inbox, environment, endLeases } = await inboxes[store]();
    const ids = Array.from({ length: 20 }, (_, n) => (n === 7 ? "deadly" : `msg_${n}`));
    await inbox.put(ids.map((id) => entry(id)));
    const isOver = async () => {
      const { done, dead } = (await inbox.stats()).states;
      return done + dead === 20;
    };
    const maxAttempts = 5;
    const OPTIONS = JSON.stringify({ leaseMs: 3_600_000, pollMs: 50, maxAttempts });
    let kills = 0;
    const ran: string[] = [];
    while (!(await isOver())) {
      const worker = runNode(["test/adversary/tools/deadly-worker.ts"], { ...environment, OPTIONS });
      onTestFinished(() => void worker.child.kill("SIGKILL"));
      let isKilled = false;
      const ended = worker.ended.then(({ output }) => {
        isKilled = worker.child.signalCode === "SIGKILL";
        ran.push(...[...output.matchAll(/^ran (\S+)$/gm)].map(([, id = ""]) => id));
      });
      await expect.poll(async () => isKilled || (await isOver())).toBe(true);
      worker.child.kill("SIGTERM");
      await ended;
      if (isKilled) kills += 1;
      await endLeases();
    }
    expect((await inbox.list({ state: "dead" })).rows.map(({ id }) => id)).toEqual(["deadly"]);
    expect(kills).toBe(maxAttempts);
    for (const id of ids) expect(ran.filter((one) => one === id).length).toBeLessThanOrEqual(2);
  },
);
