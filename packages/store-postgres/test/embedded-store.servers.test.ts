import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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

  it("frees what was claimed when its process was killed, as soon as it is opened again", async () => {
    const script = `
      import { embeddedStore } from "@esim-webhooks/store-postgres";
      const store = embeddedStore({ dataDir: process.env.DATA_DIR });
      console.log((await store.claim({ source: "default", id: "msg_1" }, 600_000)).status);
      setInterval(() => {}, 1000);`;
    const run = runNode(["--input-type=module", "--eval", script], { DATA_DIR: dataDir });
    await run.line(/^claimed$/);
    run.child.kill("SIGKILL");
    await run.ended;
    const store = embeddedStore({ dataDir });
    expect((await store.claim(key("msg_1"), 1000)).status).toBe("claimed");
    await store.close();
  });

  it("refuses a second opener, in this process and in another one, until the first has closed it", async () => {
    const first = embeddedStore({ dataDir });
    await first.ready();
    await expect(embeddedStore({ dataDir }).ready()).rejects.toMatchObject({
      code: "folder_in_use",
      message: expect.stringMatching(
        /is open in process \d+.*Use Postgres itself where several processes work/,
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

  it("takes over the lock of a dead process, by one of eight processes that try at the same time, time and again", async () => {
    const script = `
      import { lockFolder } from ${JSON.stringify(import.meta.resolve("../src/database/folder-lock.ts"))};
      import { createInterface } from "node:readline";
      for await (const round of createInterface(process.stdin)) {
        const folder = process.env.DATA_DIR + round;
        console.log(await lockFolder(folder).then(() => "held", ({ code }) => code ?? "error"));
      }`;
    const processes = Array.from({ length: 8 }, () => {
      const child = spawn(
        process.execPath,
        ["--conditions=@esim-webhooks/source", "--input-type=module", "--eval", script],
        {
          env: { ...process.env, DATA_DIR: dataDir },
          stdio: ["pipe", "pipe", "inherit"],
        },
      );
      return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
    });
    const dead = JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() });
    for (let round = 0; round < 25; round++) {
      await writeFile(`${dataDir}${round}.lock`, dead);
      for (const { child } of processes) child.stdin.write(`${round}\n`);
      const answers = await Promise.all(processes.map(async ({ lines }) => (await lines.next()).value));
      expect(answers.sort()).toEqual([...Array(7).fill("folder_in_use"), "held"]);
    }
    for (const { child } of processes) child.stdin.end();
    for (const { child } of processes) child.kill();
  });

  it.each([
    ["nobody can be asked about", { pid: 7, host: "another-container" }],
    [
      "has this process's number, from another life or another thread",
      { pid: process.pid, host: hostname() },
    ],
  ])("takes over a lock whose owner %s only once it has been silent", async (_, owner) => {
    await writeFile(`${dataDir}.lock`, JSON.stringify(owner));
    await expect(embeddedStore({ dataDir }).ready()).rejects.toMatchObject({ code: "folder_in_use" });
    const before = new Date(Date.now() - 60_000);
    await utimes(`${dataDir}.lock`, before, before);
    const store = embeddedStore({ dataDir });
    await store.ready();
    await store.close();
  });

  it.each([0, 5, 30, 150, 600])(
    "can be closed %i ms after it began to open, and be opened again",
    async (ms) => {
      const store = embeddedStore({ dataDir });
      const opening = store.ready().catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, ms));
      await store.close();
      await opening;
      const again = embeddedStore({ dataDir });
      await again.ready();
      await again.close();
    },
  );

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
