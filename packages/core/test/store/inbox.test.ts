import { describe, expect, it } from "vitest";
import { esimCatalog } from "../../src/index.ts";
import { inboxEntry, putEntries } from "../../src/store/inbox.ts";

const body = Buffer.from("{}");
const delivery = { source: "eu", id: "msg_1", body, receivedAt: new Date(0) };
const entry = inboxEntry(esimCatalog.parse("msg_1", body), delivery);

describe("inboxEntry", () => {
  it("has neither type nor event if the body is not an envelope", () => {
    expect(entry).toEqual({ ...delivery, type: null, event: null });
  });
  it("has only the type if the data does not match its schema, and keeps the replay", () => {
    const event = { type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data: {} };
    const parsed = esimCatalog.parse("msg_1", Buffer.from(JSON.stringify(event)));
    const replay = { run: "first", rebuilt: false };
    const expected = { ...delivery, type: "esim.faulted", event: null, replay };
    expect(inboxEntry(parsed, { ...delivery, replay })).toEqual(expected);
  });
});

describe("putEntries", () => {
  it("answers what put() answers", async () => {
    const put = async () => ["stored", "conflict"] as const;
    expect(await putEntries({ put }, [entry, entry])).toEqual(["stored", "conflict"]);
  });
  it.each([undefined, "stored", [], ["stored", "stored"], ["known"], { 0: "stored", length: 1 }])(
    "rejects when put() answers %j for one entry",
    async (answer) => {
      await expect(putEntries({ put: async () => answer as never }, [entry])).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringMatching(/put\(\) did not answer .* Return an array/),
      });
    },
  );
});
