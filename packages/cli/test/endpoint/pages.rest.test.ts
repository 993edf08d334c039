import { join } from "node:path";
import { memoryStore, nodeHandler } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { startService } from "../api/service.ts";
import { cli, folder, secret, startLine } from "../cli.ts";
import { startBackend } from "./backend.ts";
import { alike, openPage } from "./page.ts";

/** Environment of commands that would wait for minutes. */
const quick = { NODE_OPTIONS: `--import=${import.meta.resolve("./skipping-waits.ts")}` };

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

describe("docs/rotation.md", () => {
  const page = openPage("docs/rotation.md");

  it("rotates with one command, whose output is as the page shows it", async () => {
    const backend = await startBackend({ keyFile: true });
    const { cwd, sandbox } = backend;
    expect(await cli(["reconcile", "--since", "1h"], { cwd, env: backend.env })).toMatchObject({ code: 0 });
    await backend.down();
    const missed = await backend.emit(2);
    await sandbox.advance("16h");
    await backend.up();
    const env = { ...backend.env, ...quick, SKIPPED_WAIT_MS: "500" }; // the rotation goes on while events come in

    const { commands, shown } = page.take("Rotating the signing secret without losing an event", 1);
    const running = startLine(commands.join("\n"), { cwd, env });
    await running.written(/The new key is stored\./);
    await sandbox.advance("1s");
    await backend.emit(12);
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(alike(linesOf(stderr + stdout))).toEqual(alike(shown));
    expect(stdout).toContain("Recovered 2 missed events.");
    expect(await backend.stored()).toEqual(expect.arrayContaining(missed));
  });

  it("gives a static secret a successor during a short pause", async () => {
    const backend = await startBackend();
    const { cwd } = backend;
    await backend.down();
    const heldOff = await backend.emit(2);
    const old = newSecret();
    const env = { ...backend.env, ...quick, ESIM_WEBHOOK_SECRET: old };
    const { commands } = page.take("With a static secret: a short pause", 1);
    const script = [...commands, 'echo "now: $ESIM_WEBHOOK_SECRET"'].join("\n");
    const { stdout } = await startLine(script, { cwd, env }).ended;
    const [, secrets = ""] = /^now: (.*)$/m.exec(stdout) ?? [];
    expect(secrets.split(" ")).toEqual([expect.stringMatching(/^whsec_/), old]);
    await backend.up(secrets);
    await backend.sandbox.advance("1h");
    expect((await backend.stored()).sort()).toEqual(heldOff.sort());
  });

  it("has no commands that no test has run", () => expect(page.left()).toEqual([]));
});

describe("docs/reconcile.md", () => {
  const page = openPage("docs/reconcile.md");

  it("recovers what is missing: the first time with --since, then from where it ended, then every five minutes", async () => {
    const backend = await startBackend();
    const lost = await backend.emitAcknowledged(1);
    await backend.down();
    const givenUp = await backend.emit(2);
    await backend.sandbox.advance("16h");
    await backend.up();
    const { commands } = page.take("From the command line", 1);
    const [first = "", second = "", every = "", ...others] = commands;
    expect(others).toEqual([]);
    const firstTime = await startLine(first, backend).ended;
    expect(firstTime).toMatchObject({ code: 3, stdout: expect.stringContaining("ALARM") });
    for (const id of lost) expect(firstTime.stdout).toContain(id);
    expect((await backend.stored()).sort()).toEqual([...lost, ...givenUp].sort());
    const { code, stderr } = await startLine(second, backend).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: `API: ${backend.sandbox.url} (this machine)\n` });

    const later = await backend.emitAcknowledged(1);
    const running = startLine(every, backend);
    await running.written(/1 event recovered/);
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
    expect((await backend.stored()).sort()).toEqual([...lost, ...givenUp, ...later].sort());
  });

  it("ends with the codes of the page: 2 without --since, or with several endpoints; 1 when the API is away", async () => {
    const { cwd, env, api, sandbox } = await startBackend();
    const reconcile = (...args: string[]) => cli(["reconcile", ...args], { cwd, env });
    expect(await reconcile()).toMatchObject({ code: 2, stderr: expect.stringContaining("--since") });
    await api.webhooks.create({ url: "https://shop.example/webhooks", eventTypes: ["esim.enabled"] });
    const several = await reconcile("--since", "2d");
    expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining("--endpoint") });
    await sandbox.close();
    expect(await reconcile("--since", "2d")).toMatchObject({ code: 1 });
  });

  it("has no commands that no test has run", () => expect(page.left()).toEqual([]));
});

describe("docs/endpoint.md", () => {
  const page = openPage("docs/endpoint.md");
  const handlers = (types: readonly string[]) =>
    `{ ${types.map((type) => `"${type}": () => {}`).join(", ")} }`;
  const config = (types: readonly string[]) => `
    import { relative } from "node:path";
    import { fileURLToPath } from "node:url";
    import { fileKeySource } from "@esim-webhooks/core/key-file";
    const path = relative("", fileURLToPath(new URL("esim.key", import.meta.url)));
    export default { secret: fileKeySource(path), handlers: ${handlers(types)} };`;

  it("registers an endpoint, ends with 3 when something is wrong with it, and replaces it", async () => {
    const { env, api, sandbox } = await startService();
    const before = { env, cwd: folder({ "esim-webhooks.config.mjs": config(["esim.enabled"]) }) };
    const [made] = await page.follow("Set-up from code", 1, before);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Registered the endpoint/) });
    const [found] = await page.follow("Set-up from code", 1, before);
    expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Found the endpoint/) });

    const types = ["esim.enabled", "esim.disabled"];
    const after = { env: { ...env, ...quick }, cwd: folder({ "esim-webhooks.config.mjs": config(types) }) };
    const keys = await fileKeySource(join(before.cwd, "esim.key")).read();
    await fileKeySource(join(after.cwd, "esim.key")).write(keys?.record ?? { keys: [] }, undefined);
    const [wrong] = await page.follow("Set-up from code", 1, after);
    expect(wrong).toMatchObject({ code: 3, stdout: expect.stringContaining("not_subscribed") });
    const [replaced] = await page.follow("Other event types", 1, after);
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Replaced the endpoint/) });
    expect((await api.webhooks.list().page()).data).toMatchObject([{ eventTypes: types }]);
    expect(await sandbox.emit({ type: "esim.disabled", data: sampleData("esim.disabled") })).toHaveLength(1);
  });

  it("shows what listen posts, and what it says at its end", async () => {
    let failures = 1;
    const receiver = nodeHandler(
      {
        "esim.faulted": () => {
          failures -= 1;
          if (failures >= 0) throw new Error("the handler is broken");
        },
        "*": () => {},
      },
      { secret, store: memoryStore() },
    );
    const local = await listen(receiver, "/webhooks", receiver.close);
    onTestFinished(local.close);
    const { env, api, sandbox } = await startService();
    const types = ["esim.assigned", "esim.faulted"] as const;
    await api.webhooks.create({ url: "https://dev.example/webhooks", eventTypes: types });

    const { commands, shown } = page.take("Listen", 1);
    const line = commands.join("\n").replace("http://localhost:3000/webhooks", local.url);
    const running = startLine(line, { env: { ...env, ESIM_WEBHOOK_SECRET: secret } });
    onTestFinished(() => void running.child.kill("SIGKILL"));
    await running.written(/Press Ctrl-C to stop\./);
    for (const type of types) {
      await sandbox.emit({ type, data: sampleData(type) });
      await running.written(new RegExp(`200 processed +${type}`));
    }
    running.child.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(0);
    const [welcome = "", ...notes] = linesOf(stderr);
    const [end = "", ...attempts] = linesOf(stdout).toReversed();
    expect(alike([welcome, ...attempts.toReversed(), ...notes, end])).toEqual(alike(shown));
  });

  it("has no commands that no test has run", () => expect(page.left()).toEqual([]));
});
