import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore, nodeHandler } from "@esim-webhooks/core";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { answerEndlessly, listen } from "../../../../test/listen.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { send } from "../../src/commands/send.ts";
import { faults } from "../../src/send/expectation.ts";
import { cli, folder, jsonLines, secret } from "../cli.ts";

expectWarnings("body_consumed", "failed", "invalid", "no_matching_key", "timestamp_out_of_tolerance");

const received: { id: string; type: string; data: unknown }[] = [];
let fails = false;
const server = createServer(
  nodeHandler(
    {
      "*": ({ id, type, data }) => {
        if (fails) throw new Error("as the test asked");
        received.push({ id, type, data });
      },
    },
    { secret, store: memoryStore() },
  ),
);
let url = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => void server.close());

const sent = (...args: string[]) => cli(["send", ...args, "--url", url]);

describe("send", () => {
  it("sends sample data, which a receiver accepts", async () => {
    const { code, stdout } = await sent("esim.faulted");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("processed") });
    expect(received).toMatchObject([{ type: "esim.faulted", data: sampleData("esim.faulted") }]);
  });

  it("sets fields: JSON if it parses, else text, and long references as text", async () => {
    const fields = [
      "amount=250",
      "reason=top_up",
      "a.b=null",
      "a.c=true",
      "esimReference=730155284096617399",
      "x=1=2",
    ];
    const { code } = await sent("esim.balance.updated", ...fields.flatMap((field) => ["--data", field]));
    expect(code).toBe(0);
    expect(received.at(-1)?.data).toMatchObject({
      amount: 250,
      reason: "top_up",
      a: { b: null, c: true },
      esimReference: "730155284096617399",
      x: "1=2",
      currency: "EUR",
    });
  });

  it("keeps a number as text where the sample's field is text, also beside a --body", async () => {
    const fields = [
      "--data",
      "esimReference=8123",
      "--data",
      "reason=true",
      "--data",
      "amount=none",
      "--data",
      "amount=8123",
    ];
    for (const body of [[], ["--body", "-"]]) {
      const { code } = await cli(["send", "esim.balance.updated", ...fields, ...body, "--url", url], {
        input: JSON.stringify(sampleData("esim.balance.updated")),
      });
      expect(code).toBe(0);
      expect(received.at(-1)?.data).toMatchObject({ esimReference: "8123", reason: "true", amount: 8123 });
    }
  });

  it("says so when --data sets a field that the type does not have, suggests one, and sends it", async () => {
    const misspelt = await sent("esim.enabled", "--data", "esimRefrence=8123", "--data", "eid=8904");
    expect(misspelt.code).toBe(0);
    expect(misspelt.stderr).toBe(
      'esim.enabled has no field "esimRefrence", and it is sent all the same. Did you mean "esimReference"?\n',
    );
    expect(received.at(-1)?.data).toMatchObject({ esimRefrence: 8123, eid: "8904" });
  });

  it("reads data, or a whole body, from a file or from standard input", async () => {
    const data = { reason: "removed", packageReference: "P1" };
    const cwd = folder({ "data.json": JSON.stringify(data) });
    expect((await cli(["send", "package.ended", "--body", "data.json", "--url", url], { cwd })).code).toBe(0);
    expect(received.at(-1)?.data).toEqual(data);
    const input = JSON.stringify({
      type: "package.ended",
      timestamp: "2026-11-20T09:30:00Z",
      data: { ...data, packageReference: "P2" },
    });
    expect((await cli(["send", "package.ended", "--body", "-", "--url", url], { input })).code).toBe(0);
    expect(received.at(-1)?.data).toMatchObject({ packageReference: "P2" });
    const other = await cli(["send", "esim.enabled", "--body", "-", "--url", url], { input });
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("The event in --body does not have the type"),
    });
  });

  it.each(faults.map((fault) => [fault]))(
    "ends with 0 for the fault %s when the receiver answers as expected",
    async (fault) => {
      const ended = await sent("esim.enabled", "--fault", fault, "--json");
      const lines = jsonLines(ended);
      expect({ code: ended.code, wrong: lines.filter(({ asExpected }) => asExpected !== true) }).toEqual({
        code: 0,
        wrong: [],
      });
      expect(lines).toHaveLength(fault === "duplicate" ? 2 : 1);
    },
  );

  it("offers every fault as a value of --fault", () => {
    expect(send.parameters.flags?.["fault"]).toMatchObject({ values: faults });
  });

  it("sends as many as --times says, one after the other, each with its own id", async () => {
    const before = received.length;
    const lines = jsonLines(await sent("esim.enabled", "--times", "3", "--json"));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(3);
    expect(received.slice(before).map(({ id }) => id)).toEqual(lines.map(({ id }) => id));
    expect(lines[0]).toMatchObject({
      type: "esim.enabled",
      status: 200,
      body: '{"outcome":"processed"}',
      ms: expect.any(Number),
      expected: "2xx, no conflict",
    });
  });

  it("ends with 3 for an unexpected answer, and shows it", async () => {
    fails = true;
    const { code, stdout } = await sent("esim.enabled");
    fails = false;
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^✘ 500 {2}\{.*"code":"failed"\} {2}msg_\S+ {2}\d+ ms {2}expected 2xx, no conflict\n$/,
    );
  });

  it("ends with 3 for an id that the receiver has with another body, and says how to send a delivery twice", async () => {
    expect((await sent("esim.enabled", "--id", "msg_twice")).code).toBe(0);
    const { code, stdout, stderr } = await sent("esim.enabled", "--id", "msg_twice");
    expect(code).toBe(3);
    expect(stdout).toMatch(/^✘ 202 {2}\{"outcome":"conflict"\}/);
    expect(stderr).toMatch(/another body, at least with another timestamp\. .* use --fault duplicate\.\n$/);
  });

  it("says what a 401 and a 404 mean", async () => {
    const other = { env: { ESIM_WEBHOOK_SECRET: newSecret() } };
    const refused = await cli(["send", "esim.enabled", "--url", url], other);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("has another secret") });
    const nowhere = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => nowhere.listen(0, "127.0.0.1", resolve));
    const { port } = nowhere.address() as AddressInfo;
    const lost = await cli(["send", "esim.enabled", "--url", `http://127.0.0.1:${port}/hooks`]);
    nowhere.close();
    expect(lost).toMatchObject({ code: 3, stderr: expect.stringContaining("at this path: correct --url.") });
  });

  it("says what a 500 means: what read the body first, or that the log says more", async () => {
    const handler = nodeHandler({ "*": () => {} }, { secret });
    const behindParser = await listen(
      (request, response) => void request.resume().once("end", () => handler(request, response)),
      "/",
      handler.close,
    );
    onTestFinished(behindParser.close);
    const consumed = await cli(["send", "esim.enabled", "--url", behindParser.url]);
    expect(consumed).toMatchObject({ code: 3, stdout: expect.stringContaining("body_consumed") });
    expect(consumed.stderr).toContain("such as express.json(): mount the receiver before it.");
    fails = true;
    const failed = await sent("esim.enabled");
    fails = false;
    expect(failed.stderr).toBe("The receiver's log says why it answered failed.\n");
  });

  it("does not suspect the secret when the 401 is not the receiver's", async () => {
    const guard = await listen(
      (_, response) => void response.writeHead(401).end('{"error":"auth"}'),
      "/",
      async () => {},
    );
    onTestFinished(guard.close);
    const { code, stderr } = await cli(["send", "esim.enabled", "--url", guard.url]);
    expect(code).toBe(3);
    expect(stderr).toContain("something in front of it answered, such as an authentication hook");
    expect(stderr).not.toContain("secret");
  });

  it("signs with the last of several secrets", async () => {
    const env = { ESIM_WEBHOOK_SECRET: `${newSecret()} ${secret}` };
    expect((await cli(["send", "esim.enabled", "--url", url], { env })).code).toBe(0);
  });

  it("ends with 1 when nothing answers, and names the command to start", async () => {
    const { code, stdout, stderr } = await cli(["send", "esim.enabled"], { env: { PORT: "1" } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^Error \(no_answer\): Nothing answers at http:\/\/127\.0\.0\.1:1\/webhooks\. Start a receiver there \(esim-webhooks serve\)/,
    );
  });

  it("ends with 1 when the answer cannot be read, and does not say that nothing answers", async () => {
    const broken = createServer(({ socket }) => socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
    onTestFinished(() => void broken.close());
    await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
    const { port } = broken.address() as AddressInfo;
    const { code, stderr } = await cli(["send", "esim.enabled", "--url", `http://127.0.0.1:${port}/`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Error \(no_answer\): What came from \S+ was no complete HTTP answer\. Look into the log/m,
    );
  });

  it.each([
    [["esim.enabeld"], 'Did you mean "esim.enabled"? For any other type, give its data with --body file.'],
    [["esim.enabled", "http://127.0.0.1:9/"], "one argument too many. Write --url before a URL."],
    [["esim.enabled", "--data", "amount"], "Write --data name=value."],
    [["esim.enabled", "--body", "nowhere.json"], "Error (unreadable_file): nowhere.json cannot be read."],
    [["esim.enabled", "--times", "0"], "of 1 or more"],
  ])("ends with 2 for %j", async (args, message) => {
    const { code, stderr } = await sent(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it("reads the beginning of an endless answer, and shows its status", async () => {
    const endless = await listen(answerEndlessly, "/", async () => {});
    onTestFinished(() => endless.close());
    const { code, stdout } = await cli(["send", "esim.enabled", "--url", endless.url]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("200") });
  });

  it("refuses a URL with a password, and does not repeat it", async () => {
    const { code, stderr } = await cli(["send", "esim.enabled", "--url", "http://me:hunter2@127.0.0.1:9/"]);
    expect(code).toBe(2);
    expect(stderr).toContain("contains a user name or a password");
    expect(stderr).not.toContain("hunter2");
  });

  it("ends with 2 for an invalid URL, and without a secret", async () => {
    expect((await cli(["send", "esim.enabled", "--url", "localhost:3000"])).code).toBe(2);
    const none = await cli(["send", "esim.enabled"], { env: { ESIM_WEBHOOK_SECRET: "" } });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("Error (missing_secret)") });
  });
});
