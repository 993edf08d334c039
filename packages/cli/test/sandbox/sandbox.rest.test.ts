import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { startSandbox } from "@esim-webhooks/sandbox";
import { describe, expect, it } from "vitest";
import { root, runCommand } from "../../../../test/run.ts";
import { freePort } from "../../../../test/servers/kept-server.ts";
import { cli, folder, jsonLines, type Running, start, startInTerminal, startLine } from "../cli.ts";

const shell = (command: string) => promisify(execFile)("sh", ["-c", command]);

interface FirstLine {
  readonly url: string;
  readonly controlUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Answer {
  readonly data: Readonly<Record<string, string>>;
}

async function post(url: string, body: object): Promise<Answer> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

async function firstLine(running: Running): Promise<FirstLine> {
  const [line] = await running.written(/^\{.*\}$/m);
  return JSON.parse(line) as FirstLine;
}

async function stopped({ child, ended }: Running) {
  child.kill("SIGINT");
  return ended;
}

/** The commands of the banner, up to `serve`, and the one that orders an eSIM. */
async function printedCommands(running: Running) {
  await running.written(/is printed below/);
  const [, block = ""] = await running.written(/in another terminal:\n\n((?: {2}.*\n)+)/);
  const [, order = ""] = await running.written(/^ +(curl -d .* \S+\/esims)$/m);
  return {
    commands: block
      .trimEnd()
      .split("\n")
      .map((line) => line.trim()),
    order,
  };
}

/** The commands with another port for the receiver, as 3000 may be in use here. The last one gets the signals. */
function atPort(commands: readonly string[], port: number): string {
  const lines = commands.map((line) => line.replace("127.0.0.1:3000", `127.0.0.1:${port}`));
  return [...lines.slice(0, -1), `PORT=${port} exec ${lines.at(-1)}`].join("\n");
}

describe("sandbox", () => {
  it("keeps its contract with a script that uses nothing of ours", async () => {
    const main = join(root, "packages/cli/src/main.ts");
    const script = join(import.meta.dirname, "script.mjs");
    const ours = [process.execPath, "--conditions=@esim-webhooks/source", main];
    const { code, output } = await runCommand(process.execPath, [script, ...ours]).ended;
    expect(output).toContain("as the contract says\n");
    expect(code).toBe(0);
  });

  it("prints one line of JSON and nothing else, and ends with 0 when it is stopped", async () => {
    const options = ["--speed", "60", "--seed", "7", "--set", "burst=20", "--set", "endpointCap=3"];
    const running = start(["sandbox", "--port", "0", ...options, "--json"]);
    const { url, controlUrl } = await firstLine(running);
    expect(await (await fetch(`${controlUrl}/state`)).json()).toMatchObject({
      data: { speed: 60, switches: { burst: 20, endpointCap: "3" } },
    });
    expect((await fetch(`${url}/management/client`)).status).toBe(401);
    expect((await fetch(controlUrl)).headers.get("content-type")).toMatch(/^text\/html/);
    const ended = await stopped(running);
    expect(ended.code).toBe(0);
    expect(jsonLines(ended)).toEqual([
      { url, controlUrl, clientId: expect.any(String), clientSecret: expect.any(String) },
    ]);
  });

  it("prints commands to try next, which work as they are without a config, each attempt to deliver, and no secret", async () => {
    const cwd = folder();
    const running = start(["sandbox", "--port", "0"], { cwd });
    const { commands, order } = await printedCommands(running);
    expect(commands.map((line) => line.replace(/http[^\s)]+/, "…"))).toEqual([
      'eval "$(curl -s …)"',
      "esim-webhooks endpoint ensure … --types '*' --key-file signing-keys.json",
      'eval "$(curl -s …)"',
      "esim-webhooks serve",
    ]);
    const receiver = await freePort();
    const serving = startLine(atPort(commands, receiver), { cwd });
    await serving.written(/Listening at/);
    const ordered = JSON.parse((await shell(order)).stdout) as { data: { esimReference: string } };
    await serving.written(/"outcome":"stored"/);
    await running.written(
      new RegExp(
        `✔ 202 stored +esim\\.assigned  msg_\\w+  eSIM ${ordered.data.esimReference}  \\d+ ms  to http://127`,
      ),
    );
    const [environment = ""] = /http\S+\/environment/.exec(commands.join()) ?? [];
    const variables = await (await fetch(environment)).text();
    const secrets = Array.from(variables.matchAll(/SECRET='(.*)'/g), ([, secret = ""]) => secret);
    serving.child.kill("SIGTERM");
    await serving.ended;
    await shell(order);
    await running.written(/! no answer +esim\.assigned .* again in 30s\n +connect ECONNREFUSED 127\.0\.0\.1/);
    const { code, stdout } = await stopped(running);
    expect(code).toBe(0);
    expect(secrets).toEqual([expect.stringMatching(/^sandbox_/), expect.stringMatching(/^whsec_/)]);
    expect(secrets.filter((secret) => stdout.includes(secret))).toEqual([]);
  });

  it("prints two commands to try next in a clone: a receiver that registers itself, and an order", async () => {
    const running = start(["sandbox", "--port", "0"], { env: { npm_package_name: "esim-webhooks" } });
    const { commands, order } = await printedCommands(running);
    const controlUrl = order.slice("curl -d '{}' ".length, -"/esims".length);
    expect(commands).toEqual([`SANDBOX_URL=${controlUrl} npm start`, `curl -d '{}' ${controlUrl}/esims`]);
    await stopped(running);
  });

  it.each([
    ["that loads sandbox.env, the commands of docs/start.md", 'process.loadEnvFile("sandbox.env");'],
    ["without that file, the same but eval", ""],
  ])("prints where there is a config %s, and they work as they are", async (_, load) => {
    const config = `${load}
      import { fileKeySource } from "@esim-webhooks/core/key-file";
      export default {
        secret: fileKeySource("signing-keys.json"),
        handlers: { "esim.assigned": (event, { logger }) => logger.info({}, "an eSIM is assigned") },
      };`;
    const cwd = folder({ "esim-webhooks.config.mjs": config });
    const running = start(["sandbox", "--port", "0"], { cwd });
    const { commands, order } = await printedCommands(running);
    const page = readFileSync(join(root, "docs/start.md"), "utf8");
    const notOnPage = commands
      .map((line) => line.replace(/^esim/, "npx esim").replace(/127\.0\.0\.1:(?!3000)\d+/, "127.0.0.1:4011"))
      .filter((line) => !page.includes(line));
    expect(notOnPage).toEqual(load ? [] : ['eval "$(curl -s http://127.0.0.1:4011/environment/api)"']);
    const serving = startLine(`unset ESIM_WEBHOOK_SECRET\n${atPort(commands, await freePort())}`, { cwd });
    await serving.written(/Listening at/);
    await shell(order);
    await serving.written(/an eSIM is assigned/);
    serving.child.kill("SIGTERM");
    await serving.ended;
    await stopped(running);
  });

  it("shows the delivery that was sent last so that verify reads it, and finds out why it is refused", async () => {
    const receiver = createServer(
      (request, response) => void request.resume().on("end", () => response.end()),
    );
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    await using sandbox = await startSandbox({ clock: "manual" });
    const { port } = receiver.address() as AddressInfo;
    const { data } = await post(`${sandbox.controlUrl}/endpoints`, { url: `http://127.0.0.1:${port}/` });
    const verified = async () => {
      await sandbox.orderEsim();
      await sandbox.settled();
      const input = await (await fetch(`${sandbox.controlUrl}/deliveries?limit=1`)).text();
      return cli(["verify"], { input, env: { ESIM_WEBHOOK_SECRET: data["signingSecret"] ?? "" } });
    };
    const authentic = await verified();
    expect(authentic.stdout).toContain("esim.assigned: matches its schema");
    expect(authentic.code).toBe(0);

    sandbox.faults.add({ kind: "wrong_signature" });
    const refused = await verified();
    expect(refused.stdout).toMatch(/✘ refused {2}no_matching_key: [\s\S]*wrong_secret_or_body/);
    expect(refused.code).toBe(3);
    receiver.close();
    receiver.closeAllConnections();
  });

  it("ends cleanly at Ctrl-C in a terminal", async () => {
    const running = startInTerminal(["sandbox", "--port", "0", "--clock", "manual"]);
    await running.written(/clock +stands still/);
    running.child.stdin?.write("\u0003");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it("keeps its state with --data, in a folder that one process uses at a time", async () => {
    const cwd = folder();
    const args = ["sandbox", "--port", "0", "--data", "state", "--json"];
    const first = start(args, { cwd });
    const before = await firstLine(first);
    await fetch(`${before.controlUrl}/esims`, { method: "POST" });

    const { code, stderr } = await cli(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /Error \(unusable_data\): Another sandbox keeps its state in \S+\/state\. Stop that one/,
    );

    await stopped(first);
    const second = start(args, { cwd });
    const after = await firstLine(second);
    expect(after).toMatchObject({ clientId: before.clientId, clientSecret: before.clientSecret });
    const esims = (await (await fetch(`${after.controlUrl}/esims`)).json()) as { data: unknown[] };
    expect(esims.data).toHaveLength(1);
    await stopped(second);
  });

  it.skipIf(process.platform === "win32")(
    "warns of a folder of --data that other users can use",
    async () => {
      const cwd = folder();
      mkdirSync(join(cwd, "state"));
      chmodSync(join(cwd, "state"), 0o777);
      const running = start(["sandbox", "--port", "0", "--data", "state"], { cwd });
      await running.written(
        /Other users can write to the folder state, which has secrets\. Run chmod 700 on it\./,
      );
      await stopped(running);
    },
  );

  it("ends when it is stopped while its clock is advanced", async () => {
    const receiver = createServer((request) => void request.resume()); // it never answers
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    const running = start(["sandbox", "--port", "0", "--clock", "manual", "--json"]);
    const { controlUrl } = await firstLine(running);
    const { port } = receiver.address() as AddressInfo;
    await post(`${controlUrl}/endpoints`, { url: `http://127.0.0.1:${port}/` });
    const asked = once(receiver, "request");
    await post(`${controlUrl}/events`, { type: "esim.enabled", data: {} });
    const advanced = expect(post(`${controlUrl}/clock`, { advance: "8h" })).rejects.toThrow("fetch failed");
    await asked;
    running.child.kill("SIGTERM");
    await advanced;
    expect(await running.ended).toMatchObject({ code: 0 });
    receiver.close();
    receiver.closeAllConnections();
  });

  it("goes on at its time after it was killed, and lists what it has delivered", async () => {
    const receiver = createServer(
      (request, response) => void request.resume().on("end", () => response.end()),
    );
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    const cwd = folder();
    const args = ["sandbox", "--port", "0", "--clock", "manual", "--data", "state", "--json"];
    const killed = start(args, { cwd });
    const { controlUrl } = await firstLine(killed);
    const { port } = receiver.address() as AddressInfo;
    const { data: endpoint } = await post(`${controlUrl}/endpoints`, { url: `http://127.0.0.1:${port}/` });
    await post(`${controlUrl}/clock`, { advance: "8h" });
    const delivered = once(receiver, "request");
    await post(`${controlUrl}/events`, { type: "esim.enabled", data: {} });
    await delivered;
    const { data: before } = await post(`${controlUrl}/clock`, { advance: "7h" });
    killed.child.kill("SIGKILL");
    await killed.ended;

    const next = start(args, { cwd });
    const restarted = await firstLine(next);
    const { data: after } = (await (await fetch(`${restarted.controlUrl}/state`)).json()) as Answer;
    expect(after["now"]).toBe(before["now"]);
    const token = (await (
      await fetch(`${restarted.url}/auth/token`, {
        method: "POST",
        body: new URLSearchParams({
          client_id: restarted.clientId,
          client_secret: restarted.clientSecret,
        }),
      })
    ).json()) as { access_token: string };
    const listing = await fetch(
      `${restarted.url}/management/webhooks/${endpoint["webhookEndpointReference"]}/deliveries`,
      { headers: { authorization: `Bearer ${token.access_token}` } },
    );
    expect(await listing.json()).toMatchObject({
      data: [{ eventType: "esim.enabled", status: "delivered" }],
    });
    await stopped(next);
    receiver.close();
    receiver.closeAllConnections();
  });

  it("says which port is taken, and by which flag to choose another", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { code, stdout, stderr } = await cli(["sandbox", "--port", String(port), "--control-port", "0"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(
      `Error (cannot_listen): Cannot listen on port ${port} of 127.0.0.1 for the API: another program, perhaps another sandbox, has it. Choose another with --port; 0 is any free one.`,
    );
    server.close();
  });

  it.each([
    [["--set", "inFlght=423"], 'There is no switch "inFlght". Did you mean "inFlight"?'],
    [["--set", "inFlight=424"], 'The switch "inFlight" cannot be "424".'],
    [["--set", "inFlight"], '"inFlight" is not a switch and its value. Write it as inFlight=423.'],
    [["--clock", "manual", "--speed", "2"], "A manual clock has no speed. Leave out the clock or the speed."],
    [["--clock", "fast"], "Write one of: manual."],
    [["--speed", "0"], '"0" is not a whole number from 1 to 1000000.'],
    [["--data", "/dev/null"], "The state cannot be kept in /dev/null. Name a folder"],
  ])("refuses %j, and says how to mend it", async (args, message) => {
    const { code, stdout, stderr } = await cli(["sandbox", "--port", "0", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});
