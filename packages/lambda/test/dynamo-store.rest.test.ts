import { setTimeout as pause } from "node:timers/promises";
import {
  CreateTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { createProcessor } from "@esim-webhooks/core";
import { dynamoStore } from "@esim-webhooks/lambda/dynamodb";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { TestServer } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { createServerClock } from "../src/dynamo-store/server-clock.ts";
import { dynamoClient, startDynalite, table } from "./dynalite.ts";

expectWarnings("missing_rights", "short_retention", "unknown_table", "wrong_table");

let server: TestServer;
let client: DynamoDBClient;
beforeAll(async () => {
  server = await startDynalite();
  client = dynamoClient(server.url);
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

let keys = 0;
function newKey() {
  keys += 1;
  return { source: "default", id: `msg_${keys}` };
}

/** The item of a key, as it is in the table. */
async function itemOf({ source, id }: { readonly source: string; readonly id: string }) {
  const Key = { id: { S: `${source.length}:${source}:${id}` } };
  const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
  return Item;
}

/** A client whose server shows this time, in ms since the Unix epoch. */
function withDate(ms: number): DynamoDBClient {
  const dated = dynamoClient(server.url);
  onTestFinished(() => dated.destroy());
  const connection = dated.config.requestHandler;
  const handle = connection.handle.bind(connection);
  connection.handle = async (...request) => {
    const answer = await handle(...request);
    answer.response.headers["date"] = new Date(ms).toUTCString();
    return answer;
  };
  return dated;
}

describe("dynamoStore", () => {
  it("grants no lease that ends too early where the process was frozen since its last operation", async () => {
    const store = dynamoStore(table, { client });
    await store.claim(newKey(), 60_000); // now it knows the time
    const monotonic = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => monotonic() - 10_000); // the clock stood still for 10 s
    onTestFinished(() => void vi.restoreAllMocks());
    const key = newKey();
    const before = Date.now();
    const claim = await store.claim(key, 60_000);
    expect(claim.status).toBe("claimed");
    expect(Number((await itemOf(key))?.["until"]?.N)).toBeGreaterThanOrEqual(before + 60_000);
    vi.restoreAllMocks();
    vi.spyOn(performance, "now").mockImplementation(() => monotonic() - 30_000);
    const token = claim.status === "claimed" ? claim.token : "";
    expect(await store.extend(key, token, 60_000)).toBe(true);
    expect(Number((await itemOf(key))?.["until"]?.N)).toBeGreaterThanOrEqual(before + 60_000);
  });

  it("grants no second claim before a lease has ended, to a process that knows the time only to the second", async () => {
    vi.spyOn(performance, "now").mockReturnValue(performance.now()); // no time passes between the claims
    onTestFinished(() => void vi.restoreAllMocks());
    // the server's clock stands at the very beginning of a second, of which its answers show no fraction
    const second = Math.floor(Date.now() / 1000) * 1000;
    const served = dynamoStore(table, { client: withDate(second) });
    const key = newKey();
    const leaseMs = 1500;
    expect((await served.claim(key, leaseMs)).status).toBe("claimed");
    const until = Number((await itemOf(key))?.["until"]?.N);
    const stillHeld = Math.floor((until - 1) / 1000) * 1000; // in this second, the lease has not ended for certain
    const newProcess = dynamoStore(table, { client: withDate(stillHeld) });
    expect((await newProcess.claim(key, leaseMs)).status).toBe("busy");
    expect((await newProcess.claim(key, leaseMs)).status).toBe("busy"); // and now it has read the time
  });

  it("lets DynamoDB delete each item after its end, and reads none that it has not deleted yet", async () => {
    const store = dynamoStore(table, { client, retentionMs: 100 });
    const key = newKey();
    const before = Date.now();
    const claim = await store.claim(key, 60_000, 7);
    const after = Date.now();
    const ends = async () => {
      const { until, ttl } = (await itemOf(key)) ?? {};
      return [Number(until?.N), Number(ttl?.N)] as const;
    };
    const [until, ttl] = await ends();
    expect(ttl).toBe(Math.ceil(until / 1000));
    expect(until).toBeGreaterThanOrEqual(before + 60_000);
    expect(until).toBeLessThanOrEqual(after + 65_000);
    if (claim.status === "claimed") await store.complete(key, claim.token);
    expect((await ends())[0]).toBeLessThan(until);
    // polls, since nothing reports that the retention has passed
    while ((await store.claim(key, 1000)).status !== "claimed") await pause(50);
  });

  it("claims again what a lost answer has claimed, as its own", async () => {
    let lost = 0;
    const losing = {
      async send(command: object, options: object) {
        const answer = await client.send(command as never, options);
        if (command.constructor.name !== "PutItemCommand" || lost > 0) return answer;
        lost += 1;
        return client.send(command as never, options); // the SDK's own second attempt
      },
    };
    const store = dynamoStore(table, { client: losing as never });
    expect((await store.claim(newKey(), 60_000)).status).toBe("claimed");
    expect(lost).toBe(1);
  });

  it("deduplicates for functions that share the table", async () => {
    const handle = vi.fn();
    const event = { id: "msg_shared", type: "package.created", timestamp: "2026-11-20T12:00:00Z", data: {} };
    const codes = [];
    for (const store of [dynamoStore(table, { client }), dynamoStore(table, { client })]) {
      codes.push((await createProcessor({ "*": handle }, { store }).process(event)).code);
    }
    expect(codes).toEqual(["processed", "duplicate"]);
    expect(handle).toHaveBeenCalledOnce();
  });

  it("says what is wrong with the set-up, and how to fix it", async () => {
    await client.send(
      new CreateTableCommand({
        TableName: "other-key",
        AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
        KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
        BillingMode: "PAY_PER_REQUEST",
      }),
    );
    await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 60 }, { TableName: "other-key" });
    await expect(dynamoStore("none", { client }).ready()).rejects.toMatchObject({ code: "unknown_table" });
    await expect(dynamoStore("other-key", { client }).claim(newKey(), 1000)).rejects.toMatchObject({
      code: "wrong_table",
      message: expect.stringContaining("partition key id"),
    });
    const denied = Object.assign(new Error("not authorized"), { name: "AccessDeniedException" });
    const refusing = { send: () => Promise.reject(denied) };
    await expect(dynamoStore(table, { client: refusing }).ready()).rejects.toMatchObject({
      code: "missing_rights",
      remedy: expect.stringContaining("dynamodb:GetItem"),
    });
    const dateless = { send: async () => ({}) };
    await expect(dynamoStore(table, { client: dateless }).ready()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("no Date header"),
    });
    expect(() => dynamoStore("")).toThrow(/no table name/);
    await expect(dynamoStore(table, { client }).ready()).resolves.toBeUndefined();
  });
});

describe("the clock of a server", () => {
  const at = (seconds: number) => new Date(seconds * 1000).toUTCString();

  it("is within the bounds of every response, which narrow", () => {
    const now = vi.spyOn(performance, "now").mockReturnValue(10_000);
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = createServerClock();
    expect(clock.latest()).toBeNaN();
    clock.read(at(1000), 9_900, 10_000); // at 10,000 the server has between 1,000,000 and 1,001,100
    expect([clock.earliest(), clock.latest()]).toEqual([1_000_000, 1_001_100]);
    clock.read(at(1000), 10_100, 10_200); // it still had not reached 1,001,000 at 10,100
    now.mockReturnValue(10_200);
    expect([clock.earliest(), clock.latest()]).toEqual([1_000_200, 1_001_100]);
    clock.read(at(1001), 10_250, 10_300); // it had reached 1,001,000 by 10,300
    now.mockReturnValue(10_300);
    expect([clock.earliest(), clock.latest()]).toEqual([1_001_000, 1_001_200]);
  });

  it("begins again with a response that does not fit, and learns nothing without a date", () => {
    vi.spyOn(performance, "now").mockReturnValue(20_000);
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = createServerClock();
    clock.read(at(1000), 19_000, 19_000);
    clock.read(at(5000), 20_000, 20_000);
    expect([clock.earliest(), clock.latest()]).toEqual([5_000_000, 5_001_000]);
    clock.read(undefined, 20_000, 20_000);
    clock.read("soon", 20_000, 20_000);
    expect([clock.earliest(), clock.latest()]).toEqual([5_000_000, 5_001_000]);
  });
});
