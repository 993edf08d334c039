import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type InboxEntry, sign } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { cli, folder, jsonLines, secret, start } from "../cli.ts";

const faulted = { type: "esim.faulted" } as const;

async function withInbox(entries: readonly InboxEntry[]) {
  const schema = `cli_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const url = postgresUrl;
  const inbox = postgresInbox({ url, schema });
  await inbox.migrate();
  await inbox.put(entries);
  await inbox.close();
  return `import { postgresInbox } from "@esim-webhooks/store-postgres";
    const target = postgresInbox({ url: ${JSON.stringify(url)}, schema: "${schema}" });`;
}

describe("work", () => {
  it("processes stored events and prints the outcome of each, until SIGTERM", async () => {
    const open = await withInbox([
      entry("msg_done", faulted),
      entry("msg_fails", faulted),
      entry("msg_later", faulted),
      entry("msg_invalid", { ...faulted, data: { esimReference: 1 } }),
    ]);
    const config = `${open}
      export default { target, worker: { maxAttempts: 1, maxWaitMs: 0 }, handlers: { "esim.faulted": ({ id }, context) => {
        if (id === "msg_fails") throw new Error("oh");
        if (id === "msg_later") return context.retryLater(5000);
      } } };`;
    const running = start(["work", "--concurrency", "3"], {
      cwd: folder({ "esim-webhooks.config.ts": config }),
    });
    for (const id of ["done", "fails", "later", "invalid"])
      await running.written(new RegExp(`"id":"msg_${id}".*"outcome":`));
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/^Processing events from the target in \S+esim-webhooks\.config\.ts/);
    const outcomes = jsonLines(ended).filter(({ outcome }) => outcome !== undefined);
    expect(outcomes).toHaveLength(4);
    expect(Object.fromEntries(outcomes.map(({ id, outcome }) => [id, outcome]))).toEqual({
      msg_done: "done",
      msg_fails: "dead",
      msg_later: "dead",
      msg_invalid: "dead",
    });
    const first = { msg: "webhook event", type: "esim.faulted", attempt: 1, source: "default" };
    expect(outcomes[0]).toMatchObject({ ...first, durationMs: expect.any(Number) });
    const dead = Object.fromEntries(outcomes.map(({ id, reason, cause }) => [id, { reason, cause }]));
    expect(dead).toMatchObject({
      msg_fails: { reason: "failed", cause: "Error: oh" },
      msg_later: { reason: "retry_later", cause: expect.stringContaining("asked for retries") },
      msg_invalid: { reason: "invalid", cause: expect.stringMatching(/esimReference: /) },
    });
  });

  it("ends when a handler leaves a rejected promise behind, and logs the event whose handler it was", async () => {
    const open = await withInbox([entry("msg_left", faulted)]);
    const config = `${open}
      const check = async ({ discard }) => discard("not ours");
      export default { target, handlers: { "esim.faulted": async (_event, context) => {
        setImmediate(() => void check(context)); // not awaited
      } } };`;
    const ended = await start(["work"], { cwd: folder({ "esim-webhooks.config.ts": config }) }).ended;
    expect(ended.code).toBe(1);
    const left = jsonLines(ended).filter(({ msg }) => String(msg).includes("left behind an error"));
    expect(left).toMatchObject([{ level: "error", id: "msg_left", type: "esim.faulted", source: "default" }]);
    expect(ended.stderr).toMatch(
      /esim\.faulted called discard\("not ours"\) after its event was settled|HandlerEnded/,
    );
  });

  it("finishes running events and ends when its output is closed", async () => {
    const open = await withInbox([entry("msg_quick", faulted), entry("msg_slow", faulted)]);
    const config = `${open}
      import { existsSync, writeFileSync } from "node:fs";
      import { setTimeout as pause } from "node:timers/promises";
      export default { target, handlers: { "esim.faulted": async ({ id }) => {
        if (id === "msg_slow") process.stderr.write("begun\\n");
        while (!existsSync("closed.txt")) await pause(20);
        if (id === "msg_quick") return; // its line cannot be printed
        await pause(1200);
        writeFileSync("finished.txt", id);
      } } };`;
    const cwd = folder({ "esim-webhooks.config.ts": config });
    const running = start(["work", "--concurrency", "2"], { cwd });
    await running.written(/begun/);
    const { stdout } = running.child;
    stdout?.destroy();
    if (stdout && !stdout.closed) await once(stdout, "close");
    writeFileSync(join(cwd, "closed.txt"), "");
    const { code, stderr } = await running.ended;
    expect(stderr).toContain("Stopping: ");
    expect(code).toBe(0);
    expect(existsSync(join(cwd, "finished.txt"))).toBe(true);
  });

  it("prints an event that is done in the handler's transaction, and one to be retried", async () => {
    const open = await withInbox([entry("msg_tx", faulted), entry("msg_later", faulted)]);
    const config = `${open}
      import { sql } from "kysely";
      export default { target, handlers: { "esim.faulted": ({ id }, context) =>
        id === "msg_later" ? context.retryLater(5000) : sql\`select 1\`.execute(context.tx) } };`;
    const running = start(["work"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
    await running.written(/"id":"msg_tx".*"outcome":"done"/);
    await running.written(/"id":"msg_later".*"outcome":"waiting","afterMs":5000/);
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(0);
  });

  it("ends with 2 without handlers, and with a target that is not an inbox", async () => {
    const none = await cli(["work"]);
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toMatch(
      /^Error \(no_handlers\): There is no config file.*Add them to esim-webhooks\.config\.ts/,
    );
    const queue = folder({
      "esim-webhooks.config.ts": "export default { target: { put() {} }, handlers: {} };",
    });
    const half = await cli(["work"], { cwd: queue });
    expect(half).toMatchObject({ code: 2, stderr: expect.stringMatching(/^Error \(not_an_inbox\): /) });
  });

  it("processes the events that a serve without handlers stores on Postgres", async () => {
    const open = await withInbox([]);
    const cwd = folder({
      "esim-webhooks.config.ts": `${open} export default { target, handlers: { "esim.faulted": () => {} } };`,
      "receiver.config.ts": `${open} export default { target, port: 0 };`,
    });
    const serving = start(["serve", "--config", "receiver.config.ts"], { cwd });
    const [, url = ""] = await serving.written(/Listening at (\S+)/);
    await serving.written(/To process them, add handlers to a config file/);
    const body = JSON.stringify({
      type: "esim.faulted",
      timestamp: new Date().toISOString(),
      data: sampleData("esim.faulted"),
    });
    const headers = sign({ id: "msg_1", body }, secret);
    expect((await fetch(url, { method: "POST", headers: { ...headers }, body })).status).toBe(202);
    const working = start(["work"], { cwd });
    await working.written(/"id":"msg_1".*"outcome":"done"/);
    serving.child.kill("SIGTERM");
    working.child.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
    expect((await working.ended).code).toBe(0);
  });
});
