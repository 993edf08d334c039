import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateRedis, startRedisWithWaitAof, type TestServer } from "../../../test/servers/index.ts";
import { entryOf, openersOn } from "./set-up.ts";
import { type WaitAofProxy, waitAofProxy } from "./wait-aof-proxy.ts";

const { openInbox } = openersOn(() => "");
const open = (connection: string, timeoutMs: number) => openInbox({ connection, waitAof: true, timeoutMs });

const late = { code: "store_unavailable", message: expect.stringMatching(/to disk in time.*Check its disk/) };
const replaced = {
  code: "store_unavailable",
  message: expect.stringMatching(/connection.*ended before.*on its disk.*Put them again/),
};

describe("waitAof on a server with WAITAOF", () => {
  let server: TestServer | undefined;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedisWithWaitAof();
    if (server) admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.close();
  });

  it("resolves once the file is on disk, rejects if it is not in time, and after a reconnect in between", async ({
    skip,
  }) => {
    if (server === undefined)
      return skip("no server with WAITAOF is installed: Redis 7.2 or newer, or Valkey");
    const inbox = open(server.url, 30_000);
    const entry = entryOf();
    expect(await inbox.put([entry])).toEqual(["stored"]);
    expect(await inbox.put([entry])).toEqual(["already_stored"]);
    expect(await admin.info("commandstats")).toMatch(/cmdstat_waitaof:calls=2/);

    await admin.config("SET", "appendfsync", "no"); // the server then promises nothing
    await expect(open(server.url, 500).put([entryOf()])).rejects.toMatchObject(late);

    const put = inbox.put([entryOf()]);
    const rejected = expect(put).rejects.toMatchObject(replaced);
    await expect.poll(() => admin.client("LIST")).toMatch(/flags=b .*cmd=waitaof/);
    await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await admin.config("SET", "appendfsync", "always"); // the new connection's WAITAOF is answered immediately
    await rejected;
  });
});

describe("waitAof through a proxy that answers WAITAOF", () => {
  let server: TestServer;
  let proxy: WaitAofProxy;
  beforeAll(async () => {
    server = await privateRedis();
    proxy = await waitAofProxy(server.url);
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });

  it("resolves once the file is on disk", async () => {
    const entry = entryOf();
    expect(await open(proxy.url, 5000).put([entry])).toEqual(["stored"]);
    expect(await open(proxy.url, 5000).put([entry])).toEqual(["already_stored"]);
  });

  it("rejects if the file is not on disk in time, and the event is a duplicate when it is put again", async () => {
    const inbox = open(proxy.url, 5000);
    const entry = entryOf();
    proxy.will("time out");
    await expect(inbox.put([entry])).rejects.toMatchObject(late);
    expect(await inbox.put([entry])).toEqual(["already_stored"]);
  });

  it("acknowledges nothing on a new connection, whose WAITAOF does not answer for the write of the old one", async () => {
    const inbox = open(proxy.url, 5000);
    const entry = entryOf();
    proxy.will("end the connection");
    await expect(inbox.put([entry])).rejects.toMatchObject(replaced);
    expect(await inbox.put([entry])).toEqual(["already_stored"]);
  });
});
