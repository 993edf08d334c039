import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { cli, type Ended, start, startInTerminal } from "../cli.ts";
import { type OperatedInbox, operatedInboxes } from "../operated-inbox.ts";
import { configOf } from "../stored.ts";

const hourMs = 3_600_000;
const iccid = "8932042000010012344";
const openInbox = operatedInboxes();
let operated: OperatedInbox;

/** Two dead events, one of them a day old; one done and one ready event. */
beforeEach(async () => {
  operated = await openInbox();
  const { inbox } = operated;
  const now = Date.now();
  await inbox.put([
    entry("evt_old", { type: "esim.faulted", receivedAt: new Date(now - 25 * hourMs) }),
    entry("evt_dead", { receivedAt: new Date(now - hourMs) }),
    entry("evt_done", { receivedAt: new Date(now - hourMs) }),
  ]);
  const taken = await inbox.take({ limit: 10, leaseMs: 60_000 });
  await inbox.settle(
    taken.map((lease) =>
      lease.id === "evt_done"
        ? { ...lease, state: "done" as const }
        : { ...lease, state: "dead" as const, error: `Error: no SIM ${iccid}` },
    ),
  );
  await inbox.put([entry("evt_ready", { type: "esim.lifecycle.suspended", receivedAt: new Date(now) })]);
});

afterEach(() => operated.remove());

const inbox = (...args: string[]): Promise<Ended> =>
  cli(["inbox", ...args, "--config", configOf("postgres")], operated.at);
const lines = (ran: Ended) => ran.stdout.trimEnd().split("\n");
const ids = (ran: Ended) =>
  ran.stdout ? lines(ran).map((line) => (JSON.parse(line) as { id: string }).id) : [];

describe("inbox retry", () => {
  describe("of a named event that is not dead", () => {
    beforeEach(async () => {
      const { inbox: store } = operated;
      await store.put(["evt_late", "evt_new", "evt_busy"].map((id) => entry(id)));
      for (const lease of await store.take({ limit: 10, leaseMs: hourMs })) {
        const { id } = lease;
        if (id === "evt_late")
          await store.settle([{ ...lease, state: "retry", afterMs: hourMs, error: "CRM is down" }]);
        if (id === "evt_new") await store.settle([{ ...lease, state: "unhandled" }]);
        if (id === "evt_ready") await store.settle([{ ...lease, state: "given_back" }]);
      }
    });

    it.each([
      [
        "evt_done",
        /^evt_done is done\. To run it again, import a dump that has it with esim-webhooks import --force\.$/,
      ],
      ["evt_new", /^evt_new is unhandled\. To retry it, add --status unhandled\.$/],
      [
        "evt_late",
        /^evt_late is ready\. Its last attempt failed, and the next one is due at \S+ \S+Z, in .*\.$/,
      ],
      [
        "evt_ready",
        /^evt_ready is ready\. It is due, but no worker has reported in the last 30 s: start one\.$/,
      ],
      ["evt_busy", /^evt_busy is leased\. A worker is handling it, attempt 1; it may keep it until .*\.$/],
    ])("has nothing to do for %s, and says its state and what comes next", async (id, said) => {
      const { code, stdout, stderr } = await inbox("retry", "--id", id, "--yes");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Nothing to do: 0 dead events.\n" });
      expect(stderr.trimEnd()).toMatch(said);
    });

    it("retries the others that were named, and says the same as JSON", async () => {
      const both = ["--id", "evt_dead", "--id", "evt_done"];
      const json = JSON.parse((await inbox("retry", ...both, "--dry-run", "--json")).stdout);
      expect(json).toMatchObject({
        events: 1,
        others: [{ source: "default", id: "evt_done", state: "done" }],
      });
      const { stdout, stderr } = await inbox("retry", ...both, "--yes");
      expect(stdout).toBe("Made ready again: 1 dead event.\n");
      expect(stderr).toMatch(/^evt_done is done\. /m);
      const again = await inbox("retry", "--id", "evt_old", "--status", "unhandled", "--yes");
      expect(again.stderr).toBe("evt_old is dead. To retry it, leave out --status unhandled.\n");
    });

    it("is the same for discard", async () => {
      const { stdout, stderr } = await inbox("discard", "--id", "evt_done", "--yes");
      expect(stdout).toBe("Nothing to do: 0 dead events.\n");
      expect(stderr).toMatch(
        /^evt_done is done\. Only dead events are discarded; esim-webhooks inbox purge /,
      );
    });
  });

  it.each([
    ["changes nothing when the answer on a terminal is not yes", "\n", 0, "Nothing was changed.", 2],
    ["retries when the answer on a terminal is yes", "y\n", 0, "Made ready again: 2 dead events.", 0],
    ["changes nothing and ends with 130 when it is interrupted", "\u0003", 130, "Nothing was changed.", 2],
  ])("%s", async (_name, typed, code, says, left) => {
    const args = ["inbox", "retry", "--config", configOf("postgres")];
    const { child, ended, written } = startInTerminal(args, operated.at);
    await written(/\[y\/N\]/);
    child.stdin?.write(typed);
    const ran = await ended;
    expect(ran.stdout).toContain("Retry 2 dead events? [y/N]");
    expect(ran.stdout).toContain(says);
    expect(ran.code).toBe(code);
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toHaveLength(left);
  });
});

describe("the inbox commands", () => {
  it("end quietly when their output is closed early", async () => {
    const entries = Array.from({ length: 3000 }, (_, n) => entry(`evt_many_${n}`));
    await operated.inbox.put(entries);
    const { child, ended } = start(
      ["inbox", "list", "--all", "--json", "--config", configOf("postgres")],
      operated.at,
    );
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });
});
