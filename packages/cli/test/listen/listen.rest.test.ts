import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { memoryStore, nodeHandler, type WebhookEvent } from "@esim-webhooks/core";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import type { SandboxOptions } from "@esim-webhooks/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../test/servers/kept-server.ts";
import { type Service, startReceiver, startService } from "../api/service.ts";
import { cli, cliProcess, folder, jsonLines, secret, start } from "../cli.ts";

const iccid = "8931440400000000001";

interface Receiver {
  readonly url: string;
  /** The events that its handlers got, in order. */
  readonly events: WebhookEvent[];
  /** Resolves when it has got so many. */
  got(count: number): Promise<void>;
}

/** A receiver of ours on this machine. Its handler may throw. */
async function startLocal(handler: (event: WebhookEvent) => void = () => {}, port = 0): Promise<Receiver> {
  const events: WebhookEvent[] = [];
  const looks = new Set<() => void>();
  const receive = nodeHandler(
    {
      "*": (event) => {
        handler(event as WebhookEvent);
        events.push(event as WebhookEvent);
        for (const look of looks) look();
      },
    },
    { secret, store: memoryStore() },
  );
  const { server, port: bound } = await serveOn(receive, port);
  onTestFinished(() => closed(server));
  return {
    url: `http://127.0.0.1:${bound}/webhooks`,
    events,
    got: (count) =>
      new Promise((resolve) => {
        const look = () => events.length >= count && resolve();
        looks.add(look);
        look();
      }),
  };
}

async function serveOn(listener: RequestListener, port: number): Promise<{ server: Server; port: number }> {
  const server = createServer(listener);
  await once(server.listen(port, "127.0.0.1"), "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface World extends Service {
  readonly reference: string;
  /** Emits events of these types, one after the other, and waits until the service has sent them. */
  emit(...types: ("esim.enabled" | "esim.disabled" | "esim.deleted")[]): Promise<void>;
  listening(args: readonly string[], url: string): Promise<ReturnType<typeof start>>;
  listen(args: readonly string[]): ReturnType<typeof cli>;
}

/** The service with one endpoint whose own receiver answers 200. */
async function startWorld(options: SandboxOptions = {}): Promise<World> {
  const service = await startService({ ...options, switches: { rateLimit: "off", ...options.switches } });
  const { webhookEndpointReference: reference } = await service.api.webhooks.create({
    url: await startReceiver(200, "{}"),
    eventTypes: ["esim.enabled", "esim.disabled", "esim.deleted"],
  });
  const env = { ...service.env, ESIM_WEBHOOK_SECRET: secret };
  return {
    ...service,
    reference,
    async emit(...types) {
      for (const type of types) await service.sandbox.emit({ type, data: { ...sampleData(type), iccid } });
      await service.sandbox.settled();
    },
    async listening(args, url) {
      const running = start(["listen", "--to", url, "--every", "1s", ...args], { env });
      onTestFinished(() => void running.child.kill("SIGKILL"));
      await running.written(/Press Ctrl-C to stop\./);
      return running;
    },
    listen: (args) => cliProcess(["listen", ...args], { env }),
  };
}

async function stopped(running: ReturnType<typeof start>) {
  running.child.kill("SIGINT");
  return running.ended;
}

/** Stops it, and expects that all events were accepted. */
async function stoppedWell(running: ReturnType<typeof start>) {
  const ended = await stopped(running);
  expect(ended.code).toBe(0);
  return ended;
}

const idsOf = (events: readonly WebhookEvent[]) => events.map(({ id }) => id);
const typesOf = (events: readonly WebhookEvent[]) => events.map(({ type }) => type);

/** A URL of this machine at which nothing listens. */
async function nowhere(): Promise<{ readonly url: string; readonly port: number }> {
  const port = await freePort();
  return { url: `http://127.0.0.1:${port}/webhooks`, port };
}

/** The id of the newest delivery that the service lists. */
async function newestId({ api, reference }: World): Promise<string> {
  const [delivery] = (await api.webhooks.deliveries(reference).page()).data;
  return delivery?.eventId ?? "";
}

describe("listen", () => {
  it("posts new events once, with a line for each, and ends with its ledger", async () => {
    const { emit, listening, api, reference } = await startWorld();
    await emit("esim.enabled");
    const receiver = await startLocal();
    const running = await listening([], receiver.url);
    await emit("esim.enabled", "esim.disabled");
    await receiver.got(2);
    await emit("esim.deleted");
    await receiver.got(3);
    const { stdout, stderr } = await stoppedWell(running);
    expect(typesOf(receiver.events)).toEqual(["esim.enabled", "esim.disabled", "esim.deleted"]);
    const { data } = await api.webhooks.deliveries(reference).page();
    expect(idsOf(receiver.events).reverse()).toEqual(data.slice(0, 3).map(({ eventId }) => eventId));
    expect(receiver.events.at(-1)).toMatchObject({ data: { iccid } });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}✔ 200 processed +esim\.enabled {2}\S+ {2}\d+ ms$/);
    expect(lines[3]).toBe("3 events: 3 accepted.");
    expect(stderr).toContain(`New events of ${reference} (http://127.0.0.1:`);
    expect(stdout + stderr).not.toContain(iccid);
  });

  it("posts the events since a time first, oldest first, over all pages of a live listing that lags", async () => {
    const { emit, listening, sandbox } = await startWorld({
      clock: "manual",
      switches: { cursor: "live", listingLagMs: 1000 },
    });
    for (let sent = 0; sent < 130; sent += 1) {
      await emit(sent % 2 ? "esim.enabled" : "esim.disabled");
      await sandbox.advance("1s");
    }
    const receiver = await startLocal();
    const running = await listening(["--since", "2h"], receiver.url);
    await receiver.got(130);
    await emit("esim.deleted");
    await sandbox.advance("2s"); // until then the listing does not show it
    await receiver.got(131);
    const { stdout, stderr } = await stoppedWell(running);
    expect(stderr).toMatch(/^130 events since 20\S+Z, and new ones, of /m);
    expect(stdout).toContain("131 events: 131 accepted.");
    const times = receiver.events.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort());
    expect(new Set(idsOf(receiver.events)).size).toBe(131);
    expect(receiver.events.at(-1)?.type).toBe("esim.deleted");
  });

  it("says what a refusal means at the first attempt that gets it", async () => {
    const { listening, emit } = await startWorld();
    const running = await listening([], await startReceiver(401, '{"code":"no_matching_key"}'));
    await emit("esim.enabled");
    await running.written(
      /! 401 .*\n[\s\S]*The receiver has another secret than the one that signed: compare them\./,
    );
    await stopped(running);
  });

  it("posts only the types of --only, families too, and warns about one that the endpoint does not get", async () => {
    const { emit, listening } = await startWorld();
    const receiver = await startLocal();
    const running = await listening(["--only", "esim.dis*,esim.delted"], receiver.url);
    await emit("esim.enabled", "esim.disabled", "esim.deleted", "esim.disabled");
    await receiver.got(2);
    const { stdout, stderr } = await stoppedWell(running);
    expect(typesOf(receiver.events)).toEqual(["esim.disabled", "esim.disabled"]);
    expect(stdout).toContain("4 events: 2 accepted, 2 left out by --only.");
    expect(stderr).toContain(
      'Warning (unknown_event_type): --only esim.delted matches no event type that the endpoint gets. Did you mean "esim.deleted"?',
    );
  });

  it("waits for a receiver that is not there, says so once, and posts all that has come meanwhile", async () => {
    const { emit, listening } = await startWorld();
    const { url, port } = await nowhere();
    const running = await listening([], url);
    await emit("esim.enabled");
    await running.written(
      /Nothing answers at \S+\/webhooks\. Start the receiver: until then, all events are kept/,
    );
    await emit("esim.disabled", "esim.deleted");
    const receiver = await startLocal(undefined, port);
    await receiver.got(3);
    await running.written(/\/webhooks answers again\./);
    const { stdout, stderr } = await stoppedWell(running);
    expect(typesOf(receiver.events)).toEqual(["esim.enabled", "esim.disabled", "esim.deleted"]);
    expect(stderr.match(/Nothing answers/g)).toHaveLength(1);
    expect(stdout).toContain("3 events: 3 accepted.");
  });

  it("tries an event again that was not accepted, gives it up in the end, and says how to post it again", async () => {
    const { emit, listening, listen, reference } = await startWorld();
    let isBroken = true;
    const receiver = await startLocal(({ type }) => {
      if (isBroken && type === "esim.disabled") throw new Error("not yet");
    });
    const running = await listening([], receiver.url);
    await emit("esim.disabled", "esim.enabled");
    const [, command = ""] = await running.written(/To post it again: esim-webhooks (.+)/);
    const { code, stdout } = await stopped(running);
    expect(code).toBe(3);
    expect(typesOf(receiver.events)).toEqual(["esim.enabled"]);
    expect(stdout.match(/! 500 failed +esim\.disabled .* again in \d+s$/gm)).toHaveLength(3);
    expect(stdout.match(/✘ 500 failed +esim\.disabled /g)).toHaveLength(1);
    expect(stdout).toContain("2 events: 1 accepted, 1 given up.");

    expect(command).toMatch(new RegExp(`^listen --to ${receiver.url} --endpoint ${reference} --id \\S+$`));
    isBroken = false;
    const again = await listen(command.split(" ").slice(1));
    expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Posting \S+ to \S+\.\n$/) });
    expect(again.stdout).toMatch(/✔ 200 processed +esim\.disabled /);
    expect(typesOf(receiver.events)).toEqual(["esim.enabled", "esim.disabled"]);
  });

  it("says with how much was not accepted when it is stopped, and how to post it", async () => {
    const { emit, listening } = await startWorld();
    const running = await listening([], (await nowhere()).url);
    await emit("esim.enabled", "esim.disabled");
    await running.written(/Nothing answers/);
    const { code, stdout, stderr } = await stopped(running);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^[12] events?: 0 accepted, [12] not accepted yet\.$/m);
    expect(stderr).toMatch(/To post the others: the same command with --since 20\S+Z$/m);
  });

  it("prints JSON lines: one for each attempt, and the ledger", async () => {
    const { emit, listening } = await startWorld();
    const receiver = await startLocal();
    const running = await listening(["--json", "--payloads"], receiver.url);
    await emit("esim.enabled");
    await receiver.got(1);
    const [line, ledger] = jsonLines(await stopped(running));
    expect(line).toEqual({
      id: receiver.events[0]?.id,
      type: "esim.enabled",
      attempt: 1,
      status: 200,
      code: "processed",
      ms: expect.any(Number),
      state: "accepted",
      payload: {
        type: "esim.enabled",
        timestamp: receiver.events[0]?.timestamp,
        data: expect.objectContaining({ iccid: "•••" }),
      },
    });
    expect(ledger).toEqual({ ledger: { found: 1, accepted: 1, givenUp: 0, notAccepted: 0, leftOut: 0 } });
  });

  it("prints payloads only when asked to, and as they are only with --reveal", async () => {
    const world = await startWorld();
    const { emit, listen } = world;
    await emit("esim.enabled");
    const receiver = await startLocal();
    const args = ["--to", receiver.url, "--id", await newestId(world)];
    expect((await listen(args)).stdout).not.toContain("iccid");
    expect((await listen([...args, "--payloads"])).stdout).toContain('"iccid":"•••"');
    expect((await listen([...args, "--reveal"])).stdout).toContain(`"iccid":"${iccid}"`);
    expect(receiver.events).toHaveLength(1); // the receiver knows the id
  });

  it("posts one event by --id: ends with 3 for a refusal, an unknown id, and with 1 without a receiver", async () => {
    const world = await startWorld();
    const { emit, listen, reference } = world;
    await emit("esim.enabled");
    const id = await newestId(world);
    const refused = await listen([
      "--to",
      await startReceiver(401, '{"code":"no_matching_key"}'),
      "--id",
      id,
    ]);
    expect(refused.code).toBe(3);
    expect(refused.stdout).toMatch(/✘ 401 no_matching_key +esim\.enabled /);
    expect(refused.stderr).toMatch(
      /^Posting \S+ to http:\S+\.\nThe receiver has another secret than the one that signed: compare them\.\n$/,
    );
    const unknown = await listen(["--id", "evt_unknown"]);
    expect(unknown).toMatchObject({ code: 3, stdout: "" });
    expect(unknown.stderr).toContain(
      `Error (not_found): The listing of ${reference} has no delivery evt_unknown. It goes back 7 days.`,
    );
    const nobody = await listen(["--to", (await nowhere()).url, "--id", id]);
    expect(nobody.code).toBe(1);
    expect(nobody.stderr).toMatch(/^Error \(no_answer\): Nothing answers at .*, or name another --to\./m);
  });

  it("does not stop while the API is away, and says so once; nor does a rotation of the key file break it", async () => {
    const { emit, sandbox, env } = await startWorld();
    const old = newSecret();
    const receiver = await startLocal();
    const config = `import { fileKeySource } from "@esim-webhooks/core/key-file";
      export default { secret: fileKeySource("esim.key"), api: { maxAttempts: 1 } };`;
    const cwd = folder({ "esim-webhooks.config.mjs": config, "esim.key": old });
    const running = start(["listen", "--to", receiver.url, "--every", "1s"], {
      cwd,
      env,
    });
    onTestFinished(() => void running.child.kill("SIGKILL"));
    await running.written(/Press Ctrl-C/);
    const rotated = { keys: [{ secret: old, notAfter: "2026-11-20T12:00:00Z" }, secret] };
    writeFileSync(join(cwd, "esim.key"), JSON.stringify(rotated));
    sandbox.faults.add({ kind: "error", status: 503, times: 2 });
    await running.written(/Error \(service_failed\): .* The listing is read again until it answers\./);
    await emit("esim.enabled");
    await receiver.got(1);
    const { stderr } = await stoppedWell(running);
    expect(stderr).toContain("The API answers again.");
    expect(stderr.match(/service_failed/g)).toHaveLength(1);
  });

  it("ends with an error, and its ledger, when the endpoint is deleted", async () => {
    const { emit, listening, api, reference } = await startWorld();
    const receiver = await startLocal();
    const running = await listening([], receiver.url);
    await emit("esim.enabled");
    await receiver.got(1);
    await api.webhooks.delete(reference);
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(2);
    expect(stdout).toContain("1 event: 1 accepted.");
    expect(stderr).toContain(
      `Error (endpoint_unknown): The endpoint ${reference} no longer exists. Start the command again, for another one.`,
    );
  });

  it("says that the endpoint is not active, and asks which one if there are several", async () => {
    const { sandbox, api, reference, listening, listen } = await startWorld();
    await sandbox.setEndpointActive(reference, false);
    await api.webhooks.create({ url: "https://other.example/hooks", eventTypes: ["esim.enabled"] });
    const several = await listen([]);
    expect(several.code).toBe(2);
    expect(several.stderr).toContain("Error (endpoint_unknown): ");
    const receiver = await startLocal();
    const running = await listening(["--endpoint", reference], receiver.url);
    await running.written(/The endpoint is not active, so there will be no new ones\./);
    await stoppedWell(running);
  });
});

describe("the flags of listen", () => {
  it.each([
    [["--to", "http://user:hidden@localhost:3000"], "--to contains a user name or a password"],
    [
      ["--id", "msg_1", "--since", "2h", "--only", "a"],
      "--id posts one event, so --since and --only have no effect. Remove one of them.",
    ],
    [["--every", "100ms", "--since", "soon"], '--every: "100ms" is not a duration from 1s to 1h.'],
  ])("refuses %j, and says how to write it", async (args, message) => {
    const env = {
      ESIM_API_URL: "http://127.0.0.1:9/api/v3",
      ESIM_CLIENT_ID: "123456",
      ESIM_CLIENT_SECRET: "x",
    };
    const { code, stdout, stderr } = await cli(["listen", ...args], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Error (invalid_usage): ");
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("hidden");
  });

  it("names the missing credentials, and the missing secret", async () => {
    expect((await cli(["listen"])).stderr).toContain("Error (missing_credentials): ESIM_API_URL, ");
    const { env } = await startService();
    const { code, stderr } = await cli(["listen"], { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^Error \(missing_secret\): .* to any secret that the receiver at --to has, which need not be the endpoint's/m,
    );
  });

  it("posts to another machine with --allow-remote", async () => {
    const world = await startWorld();
    await world.emit("esim.enabled");
    const to = ["--to", "http://receiver.invalid/webhooks", "--allow-remote"];
    expect((await world.listen([...to, "--id", await newestId(world)])).stderr).toMatch(
      /^Error \(no_answer\): Nothing answers at http:\/\/receiver\.invalid/m,
    );
  });

  it("has help with examples", async () => {
    const { code, stdout } = await cli(["listen", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("esim-webhooks listen --to http://localhost:3000/webhooks\n");
    for (const flag of ["--to <url>", "--since <when>", "--only <type,…>", "--id <id>", "--every <duration>"])
      expect(stdout).toContain(flag);
    expect(stdout).toContain("Default: 2s");
  });
});
