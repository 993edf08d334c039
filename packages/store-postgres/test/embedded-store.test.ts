import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessor } from "@esim-webhooks/core";
import { embeddedStore } from "@esim-webhooks/store-postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runNode } from "../../../test/run.ts";
import { faulted, type Shop } from "./schema.ts";

let folder: string;
let dataDir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "esim-webhooks-embedded-"));
  dataDir = join(folder, "data");
});
afterEach(() => rm(folder, { recursive: true }));

const key = (id: string) => ({ source: "default", id });

/** A process that completes one id after another, and says so after each. */
function completer() {
  const script = `
    import { embeddedStore } from "@esim-webhooks/store-postgres";
    const store = embeddedStore({ dataDir: process.env.DATA_DIR });
    for (let n = Number(process.env.FROM); ; n++) {
      const key = { source: "default", id: "msg_" + n };
      const claim = await store.claim(key, 60000);
      if (await store.complete(key, claim.token)) console.log("done " + n);
    }`;
  return (from: number) =>
    runNode(["--input-type=module", "--eval", script], { DATA_DIR: dataDir, FROM: String(from) });
}

describe("embeddedStore", () => {
  it("has lost nothing that it had answered when its process was killed, time and again", async () => {
    const start = completer();
    let done = 0;
    for (let round = 0; round < 3; round++) {
      const run = start(done + 1000 * round);
      const first = done + 1000 * round;
      await run.line(new RegExp(`^done ${first + 20 + 7 * round}$`));
      run.child.kill("SIGKILL");
      const { output } = await run.ended;
      const told = [...output.matchAll(/^done (\d+)$/gm)].map(([, n]) => Number(n));
      const store = embeddedStore({ dataDir });
      for (const n of told) expect(await store.claim(key(`msg_${n}`), 1000)).toEqual({ status: "done" });
      await store.close();
      done = Math.max(...told);
    }
  });

  it("refuses a second opener, in this process and in another one, until the first has closed it", async () => {
    const first = embeddedStore({ dataDir });
    await first.ready();
    await expect(embeddedStore({ dataDir }).ready()).rejects.toMatchObject({
      code: "folder_in_use",
      message: expect.stringMatching(
        /is open in process \d+.*Use postgresStore where several processes work/,
      ),
    });
    const other = await completer()(1).ended;
    expect(other.output).toContain("folder_in_use");
    await first.close();
    const second = embeddedStore({ dataDir });
    await second.ready();
    await second.close();
    expect(existsSync(`${dataDir}.lock`)).toBe(false);
  });

  it("takes over the lock of a dead process, and of one that had this process's number, but once", async () => {
    for (const owner of ["999999999\n", `${process.pid}\n`, "", "nonsense"]) {
      await writeFile(`${dataDir}.lock`, owner);
      const openers = [1, 2, 3].map(() => embeddedStore({ dataDir }));
      const opened = await Promise.allSettled(openers.map((store) => store.ready()));
      expect(opened.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      await Promise.all(openers.map((store) => store.close()));
    }
  });

  it("gives handlers a transaction, in memory too, and works events one after another then", async () => {
    const store = embeddedStore<Shop>();
    const claim = await store.claim(key("set-up"), 60_000);
    await store.transact(key("set-up"), claim.status === "claimed" ? claim.token : "", async (tx) => {
      await tx.schema.createTable("order").addColumn("event", "text").addColumn("esim", "text").execute();
      return true;
    });
    let fails = true;
    const processor = createProcessor(
      {
        "esim.faulted": async ({ id }, { tx }) => {
          await tx.insertInto("order").values({ event: id, esim: "e" }).execute();
          if (fails) throw new Error("no stock");
          const { length } = await tx.selectFrom("order").selectAll().execute();
          return expect(length).toBeGreaterThan(0);
        },
      },
      { store },
    );
    expect((await processor.process(faulted("msg_0"))).code).toBe("failed");
    fails = false;
    const codes = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await processor.process(faulted(`msg_${n % 10}`))).code),
    );
    expect(codes.filter((code) => code === "processed")).toHaveLength(10);
    await store.close();
  });
});
