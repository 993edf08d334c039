import { randomUUID } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { EsimEvents } from "@esim-webhooks/core";
import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { secretsManagerKeys } from "@esim-webhooks/lambda/secrets-manager";
import { startSandbox } from "@esim-webhooks/sandbox";
import { redisStore } from "@esim-webhooks/store-redis";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Queue, Worker } from "bullmq";
import { startFauxqs } from "fauxqs";
import pg from "pg";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { startAwsKeys } from "../packages/lambda/test/aws-keys-server.ts";
import { startDynalite, table } from "../packages/lambda/test/dynalite.ts";
import { demoPicture } from "../scripts/docs/demo-picture.ts";
import { installed } from "./installed.ts";
import { type Run, root, runCommand, runNode } from "./run.ts";
import { startPostgres, startProxy } from "./servers/index.ts";
import { freePort } from "./servers/kept-server.ts";
import { postgresUrl, redisUrl } from "./servers/shared.ts";
import { signedDelivery } from "./support/signed-delivery.ts";

const running: Run[] = [];
const secret = newSecret();

function run(args: readonly string[], environment: Record<string, string> = {}): Run {
  const started = runNode(args, environment);
  running.push(started);
  return started;
}

afterEach(async () => {
  for (const { child } of running) child.kill();
  await Promise.all(running.splice(0).map(({ ended }) => ended));
});

async function post(url: string, type: "esim.faulted" | "esim.installed", changes = {}): Promise<unknown> {
  const response = await fetch(url, signedDelivery(secret, { type, data: changes }));
  return [response.status, await response.json()];
}

describe("npm run demo", () => {
  it("prints what was sent, its outcomes, and a ledger that balances", async () => {
    const { code, output } = await run(["examples/demo/main.ts"]).ended;
    expect(output).toContain("The ledger balances: no event was lost, and none took effect twice.");
    expect(output).not.toContain("✗");
    expect(output).toMatch(/^the dump of what it missed is imported +– +2×imported +2 +✓$/m);
    expect(output).toMatch(/^killed after its answer; a worker continues +202 +1×stored 1×worked +1 +✓$/m);
    const [, table = "", handlerRuns] =
      /^(what happened[\s\S]*)\n\n[\s\S]*^handler runs = processed \d+ \+ imported 2 \+ worked 1 \+ failed 1 +(\d+) = /m.exec(
        output,
      ) ?? [];
    const rows = Array.from(table.matchAll(/(\d+) +✓$/gm), ([, runs]) => Number(runs));
    expect(rows.reduce((sum, runs) => sum + runs, 0)).toBe(Number(handlerRuns));
    expect(code).toBe(0);
    const picture = await readFile(join(root, "docs/images/demo.svg"), "utf8");
    expect(picture, "run npm run docs").toBe(demoPicture(output));
  });
});

/** Where no sandbox runs. */
const noSandbox = { SANDBOX_URL: "http://127.0.0.1:9" };

describe("the README's first minute", () => {
  it("starts the sandbox and a receiver, orders an eSIM, and has its event handled; a receiver started again keeps its secret", async () => {
    const sandbox = run(["packages/cli/src/main.ts", "sandbox", "--port", "0"]);
    const [, controlUrl = ""] = await sandbox.line(/page +(http:\S+)$/);
    const environment = { ESIM_WEBHOOK_SECRET: "", SANDBOX_URL: controlUrl };
    const first = run(["examples/receiver/serve.ts"], { ...environment, PORT: "0" });
    const [, port = ""] = await first.line(/^Listening at http:\/\/127\.0\.0\.1:(\d+)\/webhooks/);
    for (const receiver of ["the first", "the same, started again"]) {
      const serving =
        receiver === "the first"
          ? first
          : run(["examples/receiver/serve.ts"], { ...environment, PORT: port });
      const [, order = ""] = await serving.line(/^ {2}curl -d '\{\}' (http:\S+)$/);
      expect((await fetch(order, { method: "POST", body: "{}" })).status).toBe(201);
      await serving.line(/^handled esim\.assigned with profileReference, esimReference, iccid/);
      serving.child.kill();
      await serving.ended;
    }
    const { data } = (await (await fetch(`${controlUrl}/endpoints`)).json()) as { data: unknown[] };
    expect(data).toHaveLength(1);
  });

  it("starts a receiver that says that there is no sandbox, finds it when it comes, and another one in its place", async () => {
    const [port, controlPort] = [await freePort(), await freePort()];
    const controlUrl = `http://127.0.0.1:${controlPort}`;
    const receiver = run(["examples/receiver/serve.ts"], {
      ESIM_WEBHOOK_SECRET: "",
      SANDBOX_URL: controlUrl,
      PORT: "0",
    });
    let printed = "";
    receiver.child.stdout?.on("data", (text) => {
      printed += text;
    });
    const isPrinted = (times: number, text: string) =>
      vi.waitUntil(() => printed.split(text).length - 1 === times, { timeout: 120_000 });
    await receiver.line(new RegExp(`^No sandbox at ${controlUrl}: start it with npm run sandbox`));
    for (const order of [1, 2]) {
      const sandbox = await startSandbox({ port, controlPort });
      onTestFinished(() => sandbox.close());
      await isPrinted(order, "Registered at the sandbox.");
      await sandbox.orderEsim();
      await isPrinted(order, "handled esim.assigned");
      await sandbox.close();
    }
  });

  it("has commands that there are", async () => {
    const readme = await readFile(join(root, "README.md"), "utf8");
    const [, block = ""] = /## Sixty seconds[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? [];
    const commands = block
      .trim()
      .split("\n")
      .map((line) => line.replace(/ +#.*/, ""));
    expect(commands).toEqual(["npm run sandbox", "npm start", "curl -d '{}' http://127.0.0.1:4011/esims"]);
  });
});

describe("npm start and npm run send", () => {
  it("leave a receiver listening, send it events by the command that it prints, and print a line for each, but no secret", async () => {
    const server = run(["examples/receiver/serve.ts"], { PORT: "0", ESIM_WEBHOOK_SECRET: "", ...noSandbox });
    const [, type = "", url = ""] = await server.line(/^ {2}npm run send -- (\S+) (\S+)$/);
    const sent = await run(["examples/receiver/send.ts", type, url], { ESIM_WEBHOOK_SECRET: "" }).ended;
    expect(sent.output).toBe('200 {"outcome":"processed"}\n');
    await server.line(/^handled esim\.faulted/);
    const refused = await run(["examples/receiver/send.ts", type, url], { ESIM_WEBHOOK_SECRET: secret })
      .ended;
    expect(refused).toMatchObject({ code: 1, output: expect.stringMatching(/^401 /) });
    expect(refused.output).toContain("Set ESIM_WEBHOOK_SECRET to the receiver's secret.");
    await server.line(/^no_matching_key {2}msg_\S+ {2}none of the keys/);
    server.child.kill();
    const { output } = await server.ended;
    expect(output).not.toContain("whsec_");
    const { mode } = await stat(join(root, "node_modules/.cache/esim-webhooks/receiver-secret"));
    expect(mode & 0o077).toBe(0);
    expect(output.split(`${url}\n\n`)[1]?.trim().split("\n")).toHaveLength(2);
  });

  it("end a receiver that the sandbox refuses, with the sandbox's reason", async () => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.close());
    for (const number of [1, 2, 3, 4, 5]) {
      const body = JSON.stringify({ url: `http://127.0.0.1:9/${number}` });
      expect((await fetch(`${sandbox.controlUrl}/endpoints`, { method: "POST", body })).status).toBe(201);
    }
    const { code, output } = await run(["examples/receiver/serve.ts"], {
      PORT: "0",
      ESIM_WEBHOOK_SECRET: "",
      SANDBOX_URL: sandbox.controlUrl,
    }).ended;
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringMatching(/^Listening at \S+\nThe sandbox refused the receiver: [^\n]*5[^\n]*\n$/),
    });
  });

  it("say what is missing, and name the event types there are", async () => {
    const typo = await run(["examples/receiver/send.ts", "esim.fault"], { ESIM_WEBHOOK_SECRET: secret })
      .ended;
    expect(typo).toMatchObject({ code: 2, output: expect.stringContaining("Name one of: esim.assigned,") });
    const nothing = await run(["examples/receiver/send.ts"], { ESIM_WEBHOOK_SECRET: secret }).ended;
    expect(nothing).toMatchObject({
      code: 2,
      output: expect.stringMatching(
        /^There is nothing to send: npm run send -- <type>\. Name one of: esim\.assigned, /,
      ),
    });
    for (const script of ["send.ts", "serve.ts"]) {
      const args = [`examples/receiver/${script}`, "esim.faulted"];
      const { code, output } = await run(args, { ESIM_WEBHOOK_SECRET: "whsec_short", PORT: "0" }).ended;
      expect({ code, output }).toEqual({
        code: 2,
        output: expect.stringMatching(/^ESIM_WEBHOOK_SECRET: A signing secret [^\n]+\n$/), // and no stack
      });
    }
    const nobody = ["examples/receiver/send.ts", "esim.faulted", "http://127.0.0.1:9/webhooks"];
    const alone = await run(nobody, { ESIM_WEBHOOK_SECRET: secret }).ended;
    expect(alone).toMatchObject({
      code: 1,
      output: expect.stringContaining("Start a receiver with npm start"),
    });
  });
});

describe("examples/adapters and examples/platforms", () => {
  const runtimes = join(installed("test/runtimes"), ".bin");
  installed("examples/platforms");
  const permissions = ["--allow-net", "--allow-env", "--allow-read"];
  it.each([
    ["adapters/fastify", process.execPath, [], {}],
    ["adapters/hono", process.execPath, [], {}],
    ["adapters/node", process.execPath, [], {}],
    ["adapters/bun", join(runtimes, "bun"), [], {}],
    ["adapters/deno", join(runtimes, "deno"), ["run", ...permissions], {}],
    ["platforms/nest-express", process.execPath, [], {}],
    ["platforms/nest-express", process.execPath, [], { RAW_BODY: "1" }],
    ["platforms/nest-fastify", process.execPath, [], {}],
    ["platforms/nest-fastify", process.execPath, [], { RAW_BODY: "1" }],
    ["platforms/koa", process.execPath, [], {}],
    ["platforms/h3", process.execPath, [], {}],
    ["platforms/hapi", process.execPath, [], {}],
  ])(
    "%s takes a delivery, refuses a forged one, and answers a redelivery without running it",
    async (name, command, flags, environment) => {
      const file = `examples/${name}.ts`;
      const server = runCommand(command, [...flags, "--conditions=@esim-webhooks/source", file], {
        PORT: "0",
        ESIM_WEBHOOK_SECRET: secret,
        ...environment,
      });
      running.push(server);
      const [, base] = await server.line(/listening at (\S+)/);
      const url = new URL("/webhooks", base);
      const request = signedDelivery(secret);
      const send = async (changes = {}) => (await fetch(url, { ...request, ...changes })).json();
      expect(await send()).toEqual({ outcome: "processed" });
      await server.line(/^faulted: download_order_expired/);
      expect(await send()).toEqual({ outcome: "duplicate" });
      expect(await send({ body: request.body.replace("esim", "ESIM") })).toMatchObject({
        code: "no_matching_key",
      });
      expect(await (await fetch(url, { method: "POST", body: "{}" })).json()).toMatchObject({
        code: "missing_header",
      });
    },
  );

  // test/docs.test.ts holds that every example that listens has this message
  it("each name a port that is taken, without a trace", async () => {
    const first = run(["examples/adapters/node.ts"], { PORT: "0", ESIM_WEBHOOK_SECRET: secret });
    const [, port = ""] = await first.line(/listening at http:\S+:(\d+)/);
    const names = [
      ...["adapters/endpoints", "adapters/fastify", "adapters/hono", "adapters/node", "one-line/server"],
      ...["platforms/h3", "platforms/hapi", "platforms/koa", "platforms/nest-express"],
    ];
    for (const name of names) {
      const second = run([`examples/${name}.ts`], { PORT: port, ESIM_WEBHOOK_SECRET: secret });
      const output = expect.stringMatching(
        new RegExp(`^The receiver cannot listen: .*EADDRINUSE.*:${port}\\. Set PORT to a free port\\.\n$`),
      );
      expect({ name, ...(await second.ended) }).toEqual({ name, code: 1, output });
    }
  });

  it("endpoints.ts takes the deliveries of each brand at its own path, and no others", async () => {
    const secrets = { acme: newSecret(), globex: newSecret() };
    const server = run(["examples/adapters/endpoints.ts"], { PORT: "0", SECRETS: JSON.stringify(secrets) });
    const [, base = ""] = await server.line(/listening at (\S+)/);
    const send = async (path: string, of: keyof typeof secrets) => {
      const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
      const response = await fetch(`${base}/webhooks/${path}`, signedRequest(event, { secret: secrets[of] }));
      return response.status;
    };
    expect(await send("acme", "acme")).toBe(200);
    await server.line(/^faulted: download_order_expired, of acme$/);
    expect(await send("globex", "globex")).toBe(200);
    await server.line(/^faulted: download_order_expired, of globex$/);
    expect(await send("acme", "globex")).toBe(401);
    expect(await send("toString", "acme")).toBe(404);
  });

  it("next-route.ts exports a POST that takes a fetch request", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    const { POST } = await import("../examples/adapters/next-route.ts");
    const request = signedDelivery(secret);
    const response = await POST(new Request("http://localhost/webhooks", request));
    expect([response.status, await response.json()]).toEqual([200, { outcome: "processed" }]);
    vi.unstubAllEnvs();
  });
});

describe("examples/platforms/lambda.ts and examples/lambda", () => {
  const context = { getRemainingTimeInMillis: () => 30_000 };
  const event = (isBase64Encoded: boolean) => {
    const data = { ...sampleData("esim.faulted"), detail: "ü" };
    const { headers, body } = signedRequest({ type: "esim.faulted", data }, { secret });
    return {
      headers: headers as Record<string, string>,
      body: isBase64Encoded ? Buffer.from(body).toString("base64") : body,
      isBase64Encoded,
      requestContext: { http: { method: "POST" } },
    };
  };

  beforeAll(async () => {
    const [dynamo, sqs, keys] = await Promise.all([
      startDynalite(),
      startFauxqs({ port: 0, logger: false }),
      startAwsKeys(),
    ]);
    sqs.createQueue("events");
    for (const [name, value] of Object.entries({
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
      AWS_ENDPOINT_URL_SQS: sqs.address,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: keys.url,
      ESIM_WEBHOOK_SECRET: secret,
      SECRET_NAME: "webhook-secret",
      QUEUE_URL: `${sqs.address}/000000000000/events`,
      TABLE: table,
    }))
      vi.stubEnv(name, value);
    return async () => {
      vi.unstubAllEnvs();
      await Promise.all([dynamo.close(), sqs.stop(), keys.close()]);
    };
  });

  it("platforms/lambda.ts takes text and base64, runs no redelivery, and refuses a forged delivery", async () => {
    const { handler } = await import("../examples/platforms/lambda.ts");
    const first = event(false);
    expect(await handler(first, context)).toMatchObject({ statusCode: 200, body: '{"outcome":"processed"}' });
    const { body } = first;
    const again = { ...first, isBase64Encoded: true, body: Buffer.from(body).toString("base64") };
    expect(await handler(again, context)).toMatchObject({ body: '{"outcome":"duplicate"}' });
    expect(await handler({ ...first, body: body.replace("esim", "ESIM") }, context)).toMatchObject({
      statusCode: 401,
    });
  });

  it("lambda/serve.ts gives the function a URL, at which an event of the sandbox runs once, and again not at all", async () => {
    const environment = { TABLE: "tried-out" }; // the others are stubbed
    expect(await run(["examples/lambda/table.ts"], environment).ended).toEqual({ code: 0, output: "" });
    const [sandbox, port] = [await startSandbox(), await freePort()];
    onTestFinished(() => sandbox.close());
    const url = `http://127.0.0.1:${port}/`;
    const body = JSON.stringify({ url, eventTypes: ["esim.faulted"] });
    const created = await fetch(`${sandbox.controlUrl}/endpoints`, { method: "POST", body });
    const { data } = (await created.json()) as { data: { signingSecret: string } };
    const server = run(["examples/lambda/serve.ts", "examples/platforms/lambda.ts", String(port)], {
      ...environment,
      ESIM_WEBHOOK_SECRET: data.signingSecret,
    });
    await server.line(/^examples\/platforms\/lambda\.ts has the URL/);
    const esim = await sandbox.orderEsim();
    await sandbox.faults.add({ kind: "duplicate" });
    await esim.fault("download_failed");
    await server.line(/^faulted: download_failed$/);
    const forged = signedDelivery(secret);
    expect((await fetch(url, forged)).status).toBe(401);
    server.child.kill();
    expect((await server.ended).output.match(/^faulted/gm)).toHaveLength(1);
  });

  it("lambda/receiver.ts stores an event in the queue, and worker.ts handles it once", async () => {
    expect(await secretsManagerKeys("webhook-secret").write({ keys: [secret] }, undefined)).toBe(true);
    const { handler: receive } = await import("../examples/lambda/receiver.ts");
    const { handler: work } = await import("../examples/lambda/worker.ts");
    const delivered = event(true);
    for (const _ of [1, 2]) {
      expect(await receive(delivered, context)).toMatchObject({ statusCode: 202 });
    }
    const log = vi.spyOn(console, "log").mockReturnValue();
    onTestFinished(() => void log.mockRestore());
    const { Messages = [] } = await new SQSClient().send(
      new ReceiveMessageCommand({
        QueueUrl: process.env["QUEUE_URL"],
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ["All"],
      }),
    );
    expect(Messages.length).toBe(2);
    for (const { MessageId = "", Body = "" } of Messages) {
      const attributes = { ApproximateReceiveCount: "1" };
      const record = {
        messageId: MessageId,
        body: Body,
        attributes,
        eventSourceARN: "arn:aws:sqs:eu:1:events",
      };
      expect(await work({ Records: [record] }, context)).toEqual({ batchItemFailures: [] });
    }
    expect(log.mock.calls).toEqual([["faulted: download_order_expired"]]);
  });

  it("lambda/trigger.ts calls the worker once for an event of the receiver's URL, and leaves the queue empty", async () => {
    const keys = secretsManagerKeys("tried-out");
    expect(await keys.write({ keys: [secret] }, undefined)).toBe(true);
    const sqs = new SQSClient();
    const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: "tried-out" }));
    const QUEUE_URL = `${process.env["AWS_ENDPOINT_URL_SQS"]}${new URL(QueueUrl).pathname}`;
    const environment = { QUEUE_URL, SECRET_NAME: "tried-out" };
    const port = await freePort();
    const receiver = run(
      ["examples/lambda/serve.ts", "examples/lambda/receiver.ts", String(port)],
      environment,
    );
    const worker = run(["examples/lambda/trigger.ts", "examples/lambda/worker.ts"], environment);
    await receiver.line(/^examples\/lambda\/receiver\.ts has the URL/);
    await worker.line(/^examples\/lambda\/worker\.ts gets the messages of/);
    for (const reason of ["download_failed", "install_failed"]) {
      const data = { ...sampleData("esim.faulted"), reason };
      const response = await fetch(
        `http://127.0.0.1:${port}/`,
        signedRequest({ type: "esim.faulted", data }, { secret }),
      );
      expect(response.status).toBe(202);
      await worker.line(new RegExp(`^faulted: ${reason}$`));
    }
    await vi.waitFor(
      async () => {
        const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
        const { Attributes } = await sqs.send(
          new GetQueueAttributesCommand({ QueueUrl: QUEUE_URL, AttributeNames: [...names] }),
        );
        expect(names.map((name) => Attributes?.[name])).toEqual(["0", "0"]);
      },
      { timeout: 30_000 },
    );
    worker.child.kill();
    expect((await worker.ended).output.match(/^faulted/gm)).toHaveLength(2);
  });
});

describe("examples/one-line", () => {
  it("reorders for a dead download order, and for no other fault", async () => {
    const server = run(["examples/one-line/server.ts"], { PORT: "0", ESIM_WEBHOOK_SECRET: secret });
    const [, base = ""] = await server.line(/listening at (\S+)/);
    const alive = { reason: "install_failed", esimReference: "alive" };
    expect(await post(`${base}/webhooks`, "esim.faulted", alive)).toEqual([200, { outcome: "processed" }]);
    expect(await post(`${base}/webhooks`, "esim.faulted")).toEqual([200, { outcome: "processed" }]);
    expect((await server.line(/^reordering ([^,]+)/))[1]).toBe("730155284096617302");
  });

  it("fails at start without a secret, and says what to do", async () => {
    const { code, output } = await run(["examples/one-line/server.ts"], {
      PORT: "0",
      ESIM_WEBHOOK_SECRET: "",
    }).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/There is no signing secret.*Set ESIM_WEBHOOK_SECRET/);
  });
});

describe("examples/capture", () => {
  it.each(["express", "fastify"])("%s keeps a refused delivery, whose cause is then found", async (name) => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "captured.json");
    const server = await serve(`examples/capture/${name}.ts`, { CAPTURED: file });
    expect(await server.deliver(faulted())).toEqual(processed);
    expect(await readdir(folder)).toEqual([]);
    const key = randomUUID().repeat(2);
    const data = { ...sampleData("esim.faulted"), detail: "ü" };
    const refused = signedRequest({ type: "esim.faulted", data }, { secret: Buffer.from(key) });
    expect(await server.deliver(refused)).toMatchObject([401, { code: "no_matching_key" }]);
    const find = (ESIM_WEBHOOK_SECRET: string) =>
      run(["examples/capture/explain.ts"], { CAPTURED: file, ESIM_WEBHOOK_SECRET }).ended;
    await expect.poll(async () => (await find(`utf8:${key}`)).output).toBe("authentic\n");
    expect((await find(key)).output).toContain("secret_misread: ");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});

describe("examples/testing and examples/sandbox", () => {
  it.each([
    "testing/handlers",
    "testing/worker",
    "testing/latest",
    "testing/port-in",
    "sandbox/backend",
    "sandbox/receiver",
  ])("%s.test.ts passes, as one's own tests would", async (name) => {
    const { code, output } = await run(["--test", `examples/${name}.test.ts`]).ended;
    expect(output).toMatch(/pass [1-9]/);
    expect(code, output).toBe(0);
  });
});

describe("examples/express", () => {
  it("reorders for a dead download order once, and asks for a retry when the order is not known yet", async () => {
    const server = run(["examples/express/server.ts"], { PORT: "0", ESIM_WEBHOOK_SECRET: secret });
    const [, base = ""] = await server.line(/listening at (\S+)/);
    expect(await post(`${base}/webhooks`, "esim.faulted")).toEqual([200, { outcome: "processed" }]);
    expect(await post(`${base}/webhooks`, "esim.faulted", { reason: "install_failed" })).toEqual([
      200,
      { outcome: "discarded" },
    ]);
    expect(await post(`${base}/webhooks`, "esim.faulted", { esimReference: "new" })).toMatchObject([
      503,
      { code: "retry_later" },
    ]);
    expect(await post(`${base}/webhooks`, "esim.installed")).toEqual([200, { outcome: "unhandled_type" }]);
    expect(await (await fetch(`${base}/reorders`)).json()).toEqual(["order-1"]);
    const second = run(["examples/express/server.ts"], {
      PORT: new URL(base).port,
      ESIM_WEBHOOK_SECRET: secret,
    });
    const { code, output } = await second.ended;
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^The receiver cannot listen: .* Set PORT to a free port\.\n$/),
    ]);
  });
});

/** Starts an example's server on a free port. `deliver` resolves to the status and the body of its answer. */
async function serve(file: string, environment: Record<string, string>) {
  const server = run([file], { PORT: "0", ESIM_WEBHOOK_SECRET: secret, ...environment });
  const [, base = ""] = await server.line(/^listening at (\S+)/);
  const answer = async (response: Response) => [response.status, await response.json()];
  return {
    ...server,
    base,
    get: async (path: string) => (await fetch(`${base}${path}`)).json(),
    deliver: async (request: SignedRequest) => answer(await fetch(`${base}/webhooks`, request)),
  };
}

function faulted(changes = {}): SignedRequest {
  return signedDelivery(secret, { data: changes });
}

async function endsBySigterm({ child, ended }: Run): Promise<void> {
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 0 });
}

/** A database for one test. Dropped once the example's processes have ended. */
async function ownDatabase() {
  const name = `example_${randomUUID().replaceAll("-", "")}`;
  const url = new URL(postgresUrl);
  const query = (text: string) => queryAt(url.href, text);
  await queryAt(postgresUrl, `create database ${name}`);
  onTestFinished(async () => void (await queryAt(postgresUrl, `drop database ${name} with (force)`)));
  url.pathname = name;
  return { url: url.href, query };
}

async function queryAt(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}

const processed = [200, { outcome: "processed" }];
const duplicate = [200, { outcome: "duplicate" }];
const stored = [202, { outcome: "stored" }];
const alreadyStored = [202, { outcome: "already_stored" }];

describe("examples/express-redis", () => {
  const start = (REDIS_URL: string) => serve("examples/express-redis/server.ts", { REDIS_URL });

  it("does not run in one process what another one has done, and ends by itself on SIGTERM", async () => {
    const [one, other] = await Promise.all([start(redisUrl), start(redisUrl)]);
    const request = faulted();
    expect(await one.deliver(request)).toEqual(processed);
    expect(await other.deliver(request)).toEqual(duplicate);
    expect(await other.deliver(faulted())).toEqual(processed);
    await Promise.all([endsBySigterm(one), endsBySigterm(other)]);
    const { output } = await one.ended;
    expect(output.match(/^reordering/gm)).toHaveLength(1);
  });

  it("fails at start without a Redis, and says what to check", async () => {
    const { code, output } = await run(["examples/express-redis/server.ts"], {
      PORT: "0",
      ESIM_WEBHOOK_SECRET: secret,
      REDIS_URL: "redis://127.0.0.1:9",
    }).ended;
    expect(code).toBe(1);
    expect(output).toContain("ECONNREFUSED");
  });
});

describe("examples/express-sqlite", () => {
  it("writes one replacement by two processes, for a dead download order alone", async () => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const start = () => serve("examples/express-sqlite/server.ts", { DATABASE: join(folder, "shop.db") });
    const [one, other] = [await start(), await start()];
    const request = faulted({ esimReference: "dead" });
    expect(await one.deliver(request)).toEqual(processed);
    expect(await other.deliver(request)).toEqual(duplicate);
    const alive = faulted({ reason: "install_failed", esimReference: "alive" });
    expect(await other.deliver(alive)).toEqual([200, { outcome: "discarded" }]);
    expect(await one.deliver(faulted({ esimReference: "dead" }))).toEqual(processed); // another event of the eSIM
    expect(await one.get("/replacements")).toEqual([{ esim: "dead" }]);
    await Promise.all([endsBySigterm(one), endsBySigterm(other)]);
  });
});

describe("examples/dashboard", () => {
  it("shows the inbox to those who sign in, and lets operators alone pause it, in their own name", async () => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const server = await serve("examples/dashboard/server.ts", {
      DATA_DIR: folder,
      OPERATOR_PASSWORD: "for operators",
      VIEWER_PASSWORD: "for viewers",
    });
    expect(await server.deliver(faulted())).toEqual([202, { outcome: "stored" }]);
    const page = `${server.base}/webhooks-inbox/`;
    expect((await fetch(page)).status).toBe(401);
    const call = async (password: string, name: string, input: object) => {
      const response = await fetch(`${page}api/${name}`, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(`olga:${password}`).toString("base64")}`,
          "content-type": "application/json",
          "x-esim-webhooks-dashboard": "1",
        },
        body: JSON.stringify(input),
      });
      return [response.status, response.status === 401 ? {} : await response.json()];
    };
    expect(await call("a guess", "session", {})).toEqual([401, {}]);
    const session = { name: "olga", role: "viewer", title: "development" };
    expect(await call("for viewers", "session", {})).toMatchObject([200, session]);
    expect(await call("for viewers", "gauges", {})).toMatchObject([200, { counts: { ready: 1 } }]);
    const pause = { type: "esim.faulted", reason: "CRM is down" };
    expect(await call("for viewers", "pause", pause)).toMatchObject([403, { code: "not_an_operator" }]);
    expect(await call("for operators", "pause", pause)).toEqual([200, {}]);
    expect(await call("for viewers", "now", {})).toMatchObject([200, { pauses: [{ ...pause, by: "olga" }] }]);
    await endsBySigterm(server);
  });
});

describe("examples/esim-state", () => {
  it("has the latest lifecycle, network and balance of an eSIM, whose events two processes receive newest first", async () => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const start = () => serve("examples/esim-state/server.ts", { DATABASE: join(folder, "esims.db") });
    const [one, other] = [await start(), await start()];
    const sent = (type: keyof EsimEvents, timestamp: string, changes = {}) =>
      signedRequest({ type, timestamp, data: { ...sampleData(type), ...changes } }, { secret });
    const newest = sent("esim.lifecycle.terminated", "2026-11-20T09:30:00.000002Z");
    expect(await one.deliver(newest)).toEqual(processed);
    expect(await other.deliver(newest)).toEqual(duplicate);
    for (const older of [
      sent("esim.lifecycle.suspended", "2026-11-20T11:30:00.000001+02:00"),
      sent("esim.mccswitch", "2026-11-20T09:29:00Z"),
      sent("esim.mccswitch", "2026-11-20T09:28:00Z", { newCountry: "FR" }),
      sent("esim.mccswitch", "2026-11-20T09:28:00Z", { newCountry: "FR" }), // again, under another id
      sent("esim.balance.updated", "2026-11-20T09:27:00Z"),
      sent("esim.balance.updated", "2026-11-20T09:26:00Z", { balanceAfter: 1 }),
    ]) {
      expect(await other.deliver(older)).toEqual(processed);
    }
    expect(await one.get("/esims/730155284096617302")).toEqual({
      reference: "730155284096617302",
      lifecycle_at: Date.parse("2026-11-20T09:30:00Z") + 0.002,
      lifecycle: "terminated",
      network_at: Date.parse("2026-11-20T09:29:00Z"),
      country: "NL",
      mcc: "204",
      mnc: "08",
      balance_at: Date.parse("2026-11-20T09:27:00Z"),
      balance: 4200,
      currency: "EUR",
    });
    expect(await one.get("/esims/unknown")).toEqual({ problem: "no event of this eSIM has arrived yet" });
    await Promise.all([endsBySigterm(one), endsBySigterm(other)]);
  });
});

describe("examples/fastify-postgres", () => {
  it("writes an order once by two processes, and none when the handler fails after its insert", async () => {
    const { url, query } = await ownDatabase();
    const start = () => serve("examples/fastify-postgres/server.ts", { DATABASE_URL: url });
    const [one, other] = [await start(), await start()];
    const first = faulted({ esimReference: "first" });
    expect(await one.deliver(first)).toEqual(processed);
    expect(await other.deliver(first)).toEqual(duplicate);
    expect(await other.get("/orders")).toMatchObject([{ esim: "first" }]);

    await query("update stock set available = 0");
    const second = faulted({ esimReference: "second" });
    expect(await one.deliver(second)).toMatchObject([500, { code: "failed" }]);
    expect(await one.get("/orders")).toMatchObject([{ esim: "first" }]);

    await query("update stock set available = 1");
    expect(await other.deliver(second)).toEqual(processed);
    expect(await one.deliver(second)).toEqual(duplicate);
    expect(await one.get("/orders")).toMatchObject([{ esim: "first" }, { esim: "second" }]);
    await Promise.all([endsBySigterm(one), endsBySigterm(other)]);
  });

  it("lives through a crash of Postgres, with connections idle and in use, and serves on", async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.close());
    const server = await serve("examples/fastify-postgres/server.ts", { DATABASE_URL: postgres.url });
    await Promise.all([1, 2, 3].map(() => server.get("/orders"))); // whose connections are idle now
    await postgres.kill();
    await postgres.start();
    await expect.poll(() => server.get("/orders")).toEqual([]);

    const locking = new pg.Client({ connectionString: postgres.url });
    locking.on("error", () => {});
    await locking.connect();
    await locking.query("begin; lock table orders");
    const inUse = [server.deliver(faulted()), ...[1, 2, 3].map(() => server.get("/orders"))];
    try {
      await expect.poll(() => queryAt(postgres.url, lockedOut)).toHaveLength(inUse.length);
    } finally {
      await postgres.kill(); // also ends the lock, for which the server could not end
    }
    await postgres.start();
    const [answer] = await Promise.all(inUse);
    expect(answer).toMatchObject([expect.toSatisfy((status) => status >= 500), {}]);
    await expect.poll(() => server.deliver(faulted())).toEqual(processed);
    await endsBySigterm(server);
  });

  const lockedOut = "select pid from pg_stat_activity where wait_event_type = 'Lock'";
});

describe("examples/express-drizzle", () => {
  it("writes an order with drizzle once, by whichever process", async () => {
    const { url } = await ownDatabase();
    const start = () => serve("examples/express-drizzle/server.ts", { DATABASE_URL: url });
    const [one, other] = [await start(), await start()];
    const request = faulted({ esimReference: "first" });
    expect(await one.deliver(request)).toEqual(processed);
    expect(await other.deliver(request)).toEqual(duplicate);
    expect(await other.get("/orders")).toMatchObject([{ esim: "first" }]);
    await Promise.all([endsBySigterm(one), endsBySigterm(other)]);
  });
});

describe("examples/queue-worker", () => {
  function ownQueue() {
    const variables = { REDIS_URL: redisUrl, QUEUE: `example-${randomUUID()}` };
    const queue = new Queue(variables.QUEUE, { connection: { url: variables.REDIS_URL } });
    onTestFinished(async () => {
      await queue.obliterate({ force: true });
      await queue.close();
    });
    return { queue, variables };
  }

  async function start() {
    const { queue, variables } = ownQueue();
    const receiver = await serve("examples/queue-worker/receiver.ts", variables);
    const workers = [1, 2].map(() => run(["examples/queue-worker/worker.ts"], variables));
    await Promise.all(workers.map(({ line }) => line(/^working/)));

    return {
      queue,
      deliver: receiver.deliver,
      jobsAre: (counts: Record<string, number>) =>
        expect.poll(() => queue.getJobCounts()).toMatchObject(counts),
      /** What the workers printed about events until they were ended, in the order of the alphabet. */
      async ended(): Promise<string[]> {
        await Promise.all([receiver, ...workers].map(endsBySigterm));
        const outputs = await Promise.all(workers.map(({ ended }) => ended));
        return outputs.flatMap(({ output }) => output.match(printed) ?? []).sort();
      },
    };
  }
  const printed = /^(?:msg_\S+: .*|reordering .*)$/gm;
  const noJobs = { waiting: 0, active: 0, delayed: 0, failed: 0 };

  it("takes every delivery of an event, which two workers handle once, byte for byte as it was sent", async () => {
    const { deliver, jobsAre, ended } = await start();
    const request = faulted({ esimReference: "größer 📶" });
    const id = request.headers["webhook-id"];
    const answers = await Promise.all([request, request, request].map(deliver));
    expect(answers).toEqual(Array(3).fill(stored));
    await jobsAre(noJobs);
    expect(await ended()).toEqual([
      `${id}: duplicate`,
      `${id}: duplicate`,
      `${id}: processed`,
      expect.stringMatching(/^reordering größer 📶, key [0-9a-f]{64}$/),
    ]);
  });

  it("does not lose an event with which one worker after the other dies", async () => {
    const { queue, variables } = ownQueue();
    const receiver = await serve("examples/queue-worker/receiver.ts", variables);
    const request = faulted();
    expect(await receiver.deliver(request)).toEqual([202, { outcome: "stored" }]);
    const dying = new Worker(variables.QUEUE, null, {
      connection: { url: variables.REDIS_URL },
      lockDuration: 500,
      stalledInterval: 20,
      maxStalledCount: 100,
    });
    await dying.startStalledCheckTimer();
    for (let death = 1; death <= 3; death++) {
      await expect.poll(() => queue.getWaitingCount()).toBe(1);
      await dying.getNextJob(randomUUID());
    }
    await pause(100); // the job is seen in a worker's hands, and then never again
    await dying.close(true);
    await pause(500);
    const worker = run(["examples/queue-worker/worker.ts"], variables);
    await worker.line(new RegExp(`^${request.headers["webhook-id"]}: processed`));
    await Promise.all([receiver, worker].map(endsBySigterm));
  });

  it("tries an event again that another process handles, and logs no error", async () => {
    const { queue, deliver, jobsAre, ended } = await start();
    const request = faulted();
    const key = { source: "default", id: request.headers["webhook-id"] ?? "" };
    const store = redisStore(redisUrl);
    onTestFinished(() => store.close());
    const claim = await store.claim(key, 600_000);
    expect(await deliver(request)).toEqual(stored);
    await jobsAre({ delayed: 1 });
    await store.release(key, "token" in claim ? claim.token : "");
    await queue.promoteJobs(); // the claim could have lasted for ten minutes
    await jobsAre(noJobs);
    expect(await ended()).toEqual([
      `${key.id}: processed`,
      expect.stringMatching(/^reordering 730155284096617302, key /),
    ]);
  });
});

describe("examples/bullmq-fleet", () => {
  it("stores each event once, has one of two workers handle it, and the next ones both, and shows them on Bull Board; a worker says once that Redis is away", async () => {
    const variables = { REDIS_URL: redisUrl, QUEUE: `fleet-${randomUUID()}` };
    const queue = new Queue(variables.QUEUE, { connection: { url: redisUrl } });
    onTestFinished(async () => {
      await queue.obliterate({ force: true });
      await queue.close();
    });
    const receiver = await serve("examples/bullmq-fleet/receiver.ts", variables);
    const proxy = await startProxy({ url: redisUrl });
    onTestFinished(() => proxy.close());
    proxy.refuse();
    const workers = [redisUrl, proxy.url].map((url) =>
      run(["examples/bullmq-fleet/worker.ts"], { ...variables, REDIS_URL: url }),
    );
    let errors = "";
    workers[1]?.child.stderr?.on("data", (text) => {
      errors += text;
    });
    await vi.waitUntil(() => errors.includes("ECONNREFUSED"), { timeout: 120_000 });
    proxy.accept();
    await workers[1]?.line(/^Redis answers again/);
    const healthUrls = await Promise.all(
      workers.map(async ({ line }) => (await line(/^working; health at (\S+)/))[1] ?? ""),
    );
    const sinceLastTake = async (url: string) =>
      ((await (await fetch(url)).json()) as { sinceLastTakeMs: number | null }).sinceLastTakeMs;
    expect(await Promise.all(healthUrls.map(sinceLastTake))).toEqual([null, null]);

    const request = faulted();
    expect(await receiver.deliver(request)).toEqual(stored);
    expect(await receiver.deliver(request)).toEqual(alreadyStored);
    await Promise.any(workers.map(({ line }) => line(/^reordering 730155284096617302/)));
    await expect.poll(() => queue.getJobCounts("completed")).toEqual({ completed: 1 });
    const takes = await Promise.all(healthUrls.map(sinceLastTake));
    expect(takes.filter((take) => take !== null)).toHaveLength(1);

    let events = 1;
    await expect
      .poll(async () => {
        expect(await receiver.deliver(faulted())).toEqual(stored);
        events += 1;
        return Promise.all(healthUrls.map(sinceLastTake));
      })
      .not.toContain(null);
    await expect.poll(() => queue.getJobCounts("completed")).toEqual({ completed: events });

    const board = run(["examples/bullmq-fleet/board.ts"], { ...variables, PORT: "0" });
    const [, boardUrl = ""] = await board.line(/^listening at (\S+)/);
    expect(await (await fetch(boardUrl)).text()).toContain("<html");
    const shown = await (
      await fetch(`${boardUrl}/api/queues?activeQueue=${variables.QUEUE}&status=completed`)
    ).json();
    const [shownQueue] = (shown as { queues: { counts: object; jobs: unknown[] }[] }).queues;
    expect(shownQueue?.counts).toMatchObject({ completed: events });
    expect(shownQueue?.jobs[0]).toMatchObject({
      name: "esim.faulted",
      returnValue: { outcome: "processed" },
    });
    expect(errors.match(/ECONNREFUSED/g)).toHaveLength(1);
    await Promise.all([receiver, ...workers, board].map(endsBySigterm));
  });
});

describe("examples/inbox", () => {
  async function start() {
    const { url, query } = await ownDatabase();
    const environment = { DATABASE_URL: url };
    const receiver = await serve("examples/inbox/receiver.ts", environment);
    const startWorker = async () => {
      const worker = run(["examples/inbox/worker.ts"], environment);
      await worker.line(/^working/);
      return worker;
    };
    return {
      receiver,
      startWorker,
      query,
      allDone: () =>
        expect
          .poll(() => query("select id, error from esim_webhooks.event where state <> 'done'"))
          .toEqual([]),
    };
  }

  it("stores a delivery, works it once by one of two workers, and ends by itself on SIGTERM", async () => {
    const { receiver, startWorker, query, allDone } = await start();
    const request = faulted();
    expect(await receiver.deliver(request)).toEqual(stored); // with no worker about
    expect(await receiver.deliver(request)).toEqual(alreadyStored);
    const workers = [await startWorker(), await startWorker()];
    await allDone();
    expect(await receiver.deliver(request)).toEqual(alreadyStored);
    expect(await receiver.deliver(faulted({ esimReference: "other" }))).toEqual(stored);
    await allDone();
    expect(await query("select esim from orders order by esim")).toEqual([
      { esim: "730155284096617302" },
      { esim: "other" },
    ]);
    await Promise.all([receiver, ...workers].map(endsBySigterm));
  });

  it("keeps the newest state of an eSIM, with its events in any order", async () => {
    const { receiver, startWorker, query, allDone } = await start();
    const worker = await startWorker();
    for (const [type, timestamp] of [
      ["esim.lifecycle.suspended", "2026-11-20T12:00:02Z"],
      ["esim.lifecycle.activated", "2026-11-20T12:00:01Z"],
    ] as const) {
      const request = signedRequest({ type, timestamp, data: sampleData(type) }, { secret });
      expect(await receiver.deliver(request)).toEqual(stored);
      await allDone();
    }
    expect(await query("select status from esims")).toEqual([{ status: "suspended" }]);
    await Promise.all([endsBySigterm(receiver), endsBySigterm(worker)]);
  });
});

describe("examples/embedded", () => {
  const start = (folder: string) => serve("examples/embedded/server.ts", { DATA_DIR: folder });
  const worked = /^reordering ([^,]+), key/gm;

  async function ownFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    return join(folder, "data");
  }

  it("stores a delivery and works it once, a redelivery to the next process included", async () => {
    const folder = await ownFolder();
    const request = faulted();
    const first = await start(folder);
    expect(await first.deliver(request)).toEqual(stored);
    await first.line(/^reordering 730155284096617302/);
    expect(await first.deliver(request)).toEqual(alreadyStored);
    await endsBySigterm(first);
    const second = await start(folder);
    expect(await second.deliver(request)).toEqual(alreadyStored);
    await endsBySigterm(second);
    const outputs = await Promise.all([first, second].map(async ({ ended }) => (await ended).output));
    expect(outputs.map((output) => output.match(worked)?.length)).toEqual([1, undefined]);
  });

  it("works after a kill -9 and a restart what it had answered 202", async () => {
    const folder = await ownFolder();
    const inbox = sqliteInbox({ path: join(folder, "events.db"), timeoutMs: 60_000 });
    onTestFinished(() => inbox.close());

    const acknowledged: { id: string; esim: string }[] = [];
    // by the rows: a killed process takes along the lines for which its pipe had no room
    async function notDone() {
      const { rows } = await inbox.list({}, { limit: 10_000 });
      const rowOf = new Map(rows.map((row) => [row.id, row]));
      return acknowledged
        .map((event) => ({ ...event, row: rowOf.get(event.id) }))
        .filter(({ row }) => row?.state !== "done");
    }

    let left: { esim: string }[] = [];
    // a slow test may kill it only when it has worked everything
    for (let round = 1; left.length === 0; round++) {
      const first = await start(folder);
      const esims = Array.from({ length: 300 }, (_, n) => `esim_${round}_${n}`);
      const answers = esims.map(async (esim) => {
        const request = faulted({ esimReference: esim });
        const [status] = await first.deliver(request);
        if (status === 202) acknowledged.push({ id: request.headers["webhook-id"] ?? "", esim });
      });
      await Promise.all(answers.slice(0, 100)); // stored, and most of them not worked yet
      first.child.kill("SIGKILL");
      await Promise.allSettled(answers);
      await first.ended;
      left = await notDone();
    }

    const second = await start(folder);
    await expect.poll(notDone).toEqual([]);
    await endsBySigterm(second);
    const handled = esimsIn((await second.ended).output);
    expect(left.filter(({ esim }) => !handled.has(esim))).toEqual([]);
  });

  function esimsIn(output: string): Set<string> {
    return new Set(Array.from(output.matchAll(worked), ([, esim = ""]) => esim));
  }
});

describe("the replay example", () => {
  const dump = join(root, "packages/import/test/golden/two-members.ndjson.gz");

  it("processes each undelivered event of a dump, and none of them in the second run", async () => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const copy = join(folder, "dump.gz");
    await copyFile(dump, copy);
    const start = () => run(["examples/replay/replay.ts", copy], { DATA_DIR: join(folder, "data") });
    const ledgerOf = async (replay: Run) => JSON.parse((await replay.line(/^\{"read".*/))[0]);

    const first = start();
    let output = "";
    first.child.stdout?.on("data", (chunk) => {
      output += chunk;
    });
    const { stored } = await ledgerOf(first);
    expect(stored).toBeGreaterThan(1);
    await expect.poll(() => output.match(/^processed \S+ from the dump$/gm)?.length).toBe(stored);
    await endsBySigterm(first);

    const second = start();
    expect(await ledgerOf(second)).toMatchObject({ stored: 0 });
    await endsBySigterm(second);
    expect((await second.ended).output).not.toMatch(/^processed/m);
  });
});
