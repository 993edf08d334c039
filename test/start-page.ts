import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Run, root, runCommand } from "./run.ts";
import { program } from "./servers/binaries.ts";
import { freePort } from "./servers/kept-server.ts";

const leftRunning = " # leave it running";

/** Of a poll that waits for a command to start, or starts one at each look. */
const patient = { timeout: 300_000, interval: 100 };

/** The commands of docs/start.md as they are typed: each part of a chain or a pipe is one. */
export async function startCommands(): Promise<{
  readonly page: string;
  readonly commands: readonly string[];
}> {
  const page = await readFile(join(root, "docs/start.md"), "utf8");
  const lines = Array.from(page.matchAll(/```sh\n([\s\S]*?)```/g), ([, block = ""]) =>
    block.trimEnd().split("\n"),
  );
  return { page, commands: lines.flat().flatMap((line) => line.split(/ (?:&&|\|\|?) |; /)) };
}

/**
 * Does what docs/start.md says in a folder where its packages are installed, on free ports and with a shorter interval of Prometheus, until
 * the eSIM was handled, doctor finds nothing wrong and the alert fires. `prelude` has definitions for the shell, of `npx` for example.
 */
export async function followStartPage(folder: string, prelude: string): Promise<void> {
  const { page, commands } = await startCommands();
  program("prometheus", "prometheus", ""); // installed, as the page asks for
  const [receiver = 0, control = 0, metrics = 0, prometheus = 0] = await Promise.all(
    Array.from({ length: 4 }, () => freePort()),
  );
  function atPorts(text: string): string {
    return text
      .replace("sandbox #", `sandbox --port 0 --control-port ${control} #`)
      .replace("dashboard #", "dashboard --port 0 2>&1 #")
      .replaceAll("15s", "1s")
      .replaceAll("4011", String(control))
      .replaceAll("3000", String(receiver))
      .replaceAll("9464", String(metrics))
      .replaceAll("9090", String(prometheus));
  }
  for (const [, file = "", text = ""] of page.matchAll(
    /`([\w.-]+\.(?:mts|yml))`:\n[\s\S]*?```\w+\n([\s\S]*?)```/g,
  ))
    await writeFile(join(folder, file), atPorts(text));

  const run = (command: string): Run =>
    runCommand("bash", ["-c", `${prelude}\n${atPorts(command)}`], { PORT: String(receiver) }, folder);
  async function succeed(command: string): Promise<void> {
    const { code, output } = await run(command).ended;
    expect(code, `${command}\n${output}`).toBe(0);
  }

  const running = new Map<string, Run>();
  onTestFinished(async () => {
    for (const { child } of running.values()) child.kill();
    await Promise.all([...running.values()].map(({ ended }) => ended));
  });
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${prometheus}/api/v1/${path}`).then((answer) => answer.text());
  const isReady: Record<string, (run: Run) => Promise<unknown>> = {
    sandbox: () => answers(control, "/environment/api"),
    serve: () => answers(metrics, "/readyz"),
    prometheus: async () => {
      await answers(prometheus, "/-/ready");
      await expect.poll(() => ask("query?query=up"), patient).toContain('"1"'); // it has scraped the receiver
    },
    reconcile: async () => {}, // its passes are what doctor looks at
    dashboard: async ({ line }) => {
      const [address] = await line(/http:\S+/);
      expect((await fetch(address)).status).toBe(200);
    },
  };
  for (const command of commands.filter(
    (text) => !/^(?:mkdir|cd|npm) /.test(text) && !text.includes(" doctor"),
  )) {
    if (command.endsWith(leftRunning)) {
      const name = Object.keys(isReady).find((word) => command.includes(word)) ?? "";
      const started = run(command);
      running.set(name, started);
      await isReady[name]?.(started);
    } else await succeed(command);
  }
  expect([...running.keys()].sort()).toEqual(Object.keys(isReady).sort());

  const events = () => run("npx esim-webhooks inbox list --json").ended.then(({ output }) => output);
  await expect.poll(events, patient).toMatch(/"esim\.assigned".*"done"|"done".*"esim\.assigned"/);
  await expect.poll(() => ask("alerts"), patient).toContain("EsimWebhooksDeliveriesRefused");
  const doctor = () => run("npx esim-webhooks doctor").ended.then(({ code }) => code);
  await expect.poll(doctor, patient).toBe(0);
}

/** Waits until a page of a server on this machine is served. */
function answers(port: number, path: string): Promise<void> {
  const status = () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status: code }) => code,
      () => 0,
    );
  return expect.poll(status, { ...patient, message: path }).toBe(200) as Promise<void>;
}
