import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { contents, readBytes } from "./reading.ts";

const headers = [{ name: "Webhook-Id", value: "msg_1" }];
const startedDateTime = "2026-11-20T09:30:00.123Z";
const entry = (request: object) => ({
  startedDateTime,
  time: 1,
  request,
  response: { status: 200, data: [1] },
});
const log = (...entries: object[]) => ({
  log: {
    version: "1.2",
    creator: { name: "proxy", entries: [1] },
    pages: [{ id: "p" }],
    entries,
    comment: "x",
  },
});
const webhook = entry({ method: "POST", headers, postData: { mimeType: "application/json", text: "{}" } });
const captured = { headers, body: "{}", receivedAt: startedDateTime, isBase64Encoded: false };

it.each([
  ["on one line", JSON.stringify(log(webhook, webhook))],
  ["pretty, after a byte order mark", `\ufeff${JSON.stringify(log(webhook, webhook), null, 2)}\n`],
  ["packed", gzipSync(JSON.stringify(log(webhook, webhook)))],
  ["in UTF-16", Buffer.from(JSON.stringify(log(webhook, webhook)), "utf16le")],
])("the webhooks in a HAR file are captured requests: %s", async (_, har) => {
  for (const size of [1, 7, 1000]) {
    const { records, forms, damage } = await readBytes(har, size);
    expect(damage).toBeUndefined();
    expect(contents(records)).toEqual([captured, captured]);
    expect(forms.at(-1)).toBe("har");
  }
});

it("a HAR file may be longer than a record", async () => {
  const all = Array.from({ length: 20 }, () => webhook);
  const { records, damage } = await readBytes(JSON.stringify(log(...all)), 100, { maxRecordBytes: 300 });
  expect(damage).toBeUndefined();
  expect(contents(records)).toEqual(all.map(() => captured));
});

it("other entries are counted, with a reason", async () => {
  const { records } = await readBytes(
    JSON.stringify(
      log(
        entry({ method: "GET", headers }),
        entry({ method: "POST", headers: [{ name: "accept", value: "*/*" }], postData: { text: "{}" } }),
        entry({ method: "POST", headers }),
        {},
        entry({ method: "POST", headers, postData: { text: "e30=", encoding: "base64" } }),
      ),
    ),
  );
  expect(records.map((record) => ("value" in record ? record.value : record.reason))).toEqual([
    "a HAR entry that is not a POST with webhook-… headers",
    "a HAR entry that is not a POST with webhook-… headers",
    "a HAR entry without the body in postData.text: save the HAR with content",
    "a HAR entry that is not a POST with webhook-… headers",
    { ...captured, body: "e30=", isBase64Encoded: true },
  ]);
});

it("lines that only have a field called log are records", async () => {
  const line = { log: { level: 30 }, entries: [] };
  expect(contents((await readBytes(`${JSON.stringify(line)}\n${JSON.stringify(line)}`)).records)).toEqual([
    line,
    line,
  ]);
});

it("a HAR file that is cut is damaged, after its whole entries", async () => {
  const { records, damage } = await readBytes(JSON.stringify(log(webhook, webhook)).slice(0, -120));
  expect(contents(records)).toEqual([captured]);
  expect(damage?.code).toBe("damaged_dump");
});
