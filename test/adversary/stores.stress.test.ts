// Attacks on stores and inboxes: servers that freeze, lose answers, go silent or are set up against us.
import { describe, expect, it, onTestFinished } from "vitest";
import { createData, entry, openInbox } from "../inbox-data.ts";
import { lossyProxy, privatePostgres } from "../servers/index.ts";
import { postgresUrl } from "../servers/shared.ts";
import { whileFrozen } from "./tools/freeze.ts";

describe("Postgres", () => {
  it("acknowledges no event while it is frozen, and takes the same events when it goes on", async () => {
    const server = await privatePostgres();
    onTestFinished(() => server.close());
    const inbox = openInbox(server.url, { timeoutMs: 500 });
    await inbox.migrate();
    const events = Array.from({ length: 200 }, (_, n) => entry(`msg_${n}`));
    const put = () => Promise.allSettled(events.map((event) => inbox.put([event])));
    const frozen = await whileFrozen(server, put);
    expect(frozen.filter(({ status }) => status === "fulfilled")).toEqual([]);
    await expect
      .poll(() =>
        inbox.ready().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    const answers = (await put()).map((one) => (one.status === "fulfilled" ? one.value[0] : one.reason));
    expect(answers.filter((one) => one !== "stored" && one !== "duplicate")).toEqual([]);
    expect(await inbox.count({})).toBe(200);
  });

  it("has every event once after 30 answers were cut off between commit and answer", async () => {
    const data = await createData(postgresUrl);
    const proxy = await lossyProxy({ url: postgresUrl });
    onTestFinished(() => proxy.close());
    const inbox = openInbox(proxy.url, { schema: data.schema, timeoutMs: 2000 });
    await inbox.migrate();
    for (let n = 0; n < 30; n++) {
      proxy.loseNextAnswer();
      await inbox.put([entry(`msg_${n}`)]).catch(() => {});
      expect(await inbox.put([entry(`msg_${n}`)])).toHaveLength(1);
    }
    expect(await data.states()).toEqual({ ready: 30 });
  });
});
