import { request } from "node:http";
import { join } from "node:path";
import { createWorker } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { startReceiver, startService } from "../api/service.ts";
import { type CliOptions, cli, folder, jsonLines, type Running, start } from "../cli.ts";

let cwd: string;
beforeEach(async () => {
  cwd = folder({
    "esim-webhooks.config.ts": `import { defineConfig } from "@esim-webhooks/cli";
      import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      export default defineConfig({ target: sqliteInbox({ path: "own.db" }), handlers: { "esim.faulted": () => {} } });`,
  });
  const inbox = sqliteInbox({ path: join(cwd, "own.db") });
  await inbox.put([entry("msg_1"), entry("msg_2")]);
  const stop = new AbortController();
  let left = 2;
  const fail = () => {
    left -= 1;
    if (left === 0) stop.abort();
    throw new Error("no luck");
  };
  await createWorker(inbox, { "*": fail }, { maxAttempts: 1 }).run({ signal: stop.signal });
  expect(await inbox.count({ state: "dead" })).toBe(2);
  await inbox.close();
});

interface Opened {
  readonly running: Running;
  readonly url: string;
}

async function opened(args: readonly string[] = [], env: CliOptions["env"] = {}): Promise<Opened> {
  const running = start(["dashboard", "--port", "0", ...args], { cwd, env });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  const [url = ""] = await running.written(/http:\/\/[\w.:[\]]+\/[\w-]+\//);
  return { running, url };
}

function call(url: string, name: string, input: object = {}): Promise<Response> {
  return fetch(`${url}api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-esim-webhooks-dashboard": "1" },
    body: JSON.stringify(input),
  });
}

describe("dashboard", () => {
  it("shows the inbox of the config at an address on this machine, to an operator with the user's name", async () => {
    const { running, url } = await opened(["--title", "staging", "--color", "#b42318"]);
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const page = await fetch(url);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const session = (await (await call(url, "session")).json()) as Record<string, string>;
    expect(session).toMatchObject({
      role: "operator",
      title: "staging",
      color: "#b42318",
      hasEndpoints: false,
    });
    expect(session["name"]).toMatch(/^\S+@\S+$/);

    const retried = await call(url, "retry", { filter: { state: "dead" }, most: 2 });
    expect(await retried.json()).toMatchObject({ done: 2 });
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(jsonLines(ended)).toContainEqual(
      expect.objectContaining({ code: "dashboard_retry", by: session["name"], events: 2 }),
    );
  });

  it("prints its address as JSON, and shows a copy of an embedded inbox", async () => {
    const { running, url } = await opened(["--from", "own.db", "--json"]);
    expect(await (await call(url, "gauges")).json()).toMatchObject({ counts: { dead: 2 } });
    running.child.kill("SIGTERM");
    expect(jsonLines(await running.ended)[0]).toEqual({ url });
  });

  it("shows the endpoints of the client, what no handler takes, what was missed, and their deliveries without personal data", async () => {
    const { api, sandbox, env } = await startService();
    const receiver = await startReceiver(200, "done");
    const eventTypes = ["esim.assigned", "esim.faulted"];
    await api.webhooks.create({ url: `${receiver}?token=secret`, eventTypes });
    const { iccid } = await sandbox.orderEsim();
    await sandbox.settled();
    const { url } = await opened([], env);
    const read = async (): Promise<unknown> => (await call(url, "endpoints")).json();
    await expect.poll(read).toHaveProperty("endpoints"); // a call of a busy machine may be late
    const answer = await read();
    // the receiver has acknowledged the event, but it is not that of the inbox
    const delivery = { type: "esim.assigned", attempt: 1, httpStatus: 200, status: "delivered", event: null };
    expect(answer).toMatchObject({
      endpoints: [
        {
          url: receiver,
          isActive: true,
          subscribed: eventTypes,
          unhandled: ["esim.assigned"],
          notSubscribed: [],
          compared: 1,
          missedCount: 1,
          missed: [delivery],
          deliveries: [delivery],
        },
      ],
    });
    expect(JSON.stringify(answer)).not.toMatch(new RegExp(`secret|${iccid}`));
  });

  it("answers 404 without the path that it has printed, and to the name of another host", async () => {
    const { url } = await opened();
    const { origin, port, pathname } = new URL(url);
    for (const path of ["/", "/api/session", "/guess/", "/guess/api/session"])
      expect((await fetch(`${origin}${path}`)).status, path).toBe(404);
    expect((await fetch(`http://localhost:${port}${pathname}`)).status).toBe(200);
    const rebound = request(`${url}`, { headers: { host: `evil.example:${port}` } });
    const status = await new Promise((resolve, reject) => {
      rebound.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
      rebound.end();
    });
    expect(status).toBe(404);
  });

  it.each([
    [["--host", "0.0.0.0"], "--host 0.0.0.0 is not this machine alone"],
    [["--color", "red"], '"red" is not a colour'],
    [["--from", "none.db"], "There is no file none.db"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await cli(["dashboard", ...args], { cwd });
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
