import { describe, expect, it } from "vitest";
import { esimCatalog } from "../../src/index.ts";
import { inboxEntry } from "../../src/store/inbox-entry.ts";
import { putEntries } from "../../src/store/put-entries.ts";

const body = Buffer.from("{}");
const delivery = { source: "eu", id: "msg_1", body, receivedAt: new Date(0) };
const entry = inboxEntry(esimCatalog.parse("msg_1", body), delivery);

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
