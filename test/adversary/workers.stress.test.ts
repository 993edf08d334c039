// Attacks on workers: handlers that block or kill their process, processes that freeze, and late starts.
import { expect, it } from "vitest";
import { createData, entry, openInbox, start } from "../inbox-data.ts";
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
