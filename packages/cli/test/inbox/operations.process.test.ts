import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { cli, type Ended, folder, start, startInTerminal } from "../cli.ts";
import { storeAt } from "../stored.ts";

let cwd: string;
beforeEach(() => {
  cwd = folder();
});
const inbox = (...args: string[]): Promise<Ended> => cli(["inbox", ...args], { cwd });
const path = () => join(cwd, ".esim-webhooks/events.db");

/** The same inbox, in this process. */
function opened() {
  const own = sqliteInbox({ path: path() });
  onTestFinished(() => own.close());
  return own;
}

describe("inbox pause and resume", () => {
  beforeEach(() => storeAt(cwd, [entry("a", { type: "esim.faulted" }), entry("b")]));

  it("are in the log of a worker, which takes nothing that is paused", async () => {
    writeFileSync(
      join(cwd, "esim-webhooks.config.mjs"),
      'export default { handlers: { "*": () => {} }, worker: { pollMs: 50 } };',
    );
    await inbox("pause", "--types", "esim.faulted", "--reason", "CRM is down", "--by", "ops");
    const worker = start(["work"], { cwd });
    await worker.written(/"type":"esim\.faulted","reason":"CRM is down".*"msg":"Events are paused: workers/);
    await worker.written(/esim\.enabled/);
    worker.child.kill("SIGTERM");
    await worker.ended;
    expect((await opened().get({ source: "default", id: "a" }))?.state).toBe("ready");
  });
});

describe("inbox erase", () => {
  const reference = "730155284096617302";
  beforeEach(async () => {
    await storeAt(cwd, [
      entry("a1", { esim: reference }),
      entry("a2", { esim: reference }),
      entry("b1", { esim: "esim-b" }),
    ]);
    const own = opened();
    const [first] = await own.take({ limit: 1, leaseMs: 60_000 });
    if (first) await own.settle([{ ...first, state: "done" }]);
  });

  it("asks first on a terminal, except when there is no event", async () => {
    const { child, ended, written } = startInTerminal(["inbox", "erase", "--esim", reference], { cwd });
    await written(/\[y\/N\]/);
    child.stdin?.write("\n");
    const asked = await ended;
    expect(asked.stdout).toContain(
      "Erase the personal data of 2 events of this eSIM (1 ready, 1 done)? [y/N]",
    );
    expect(asked.stdout).toContain("Nothing was changed.");
    const none = await startInTerminal(["inbox", "erase", "--esim", "esim-none"], { cwd }).ended;
    expect(none.code).toBe(0);
    expect(none.stdout).toContain("Erased: the personal data of 0 events.");
    expect(none.stdout).not.toContain("[y/N]");
  });
});
