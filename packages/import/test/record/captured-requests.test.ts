import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, memoryStore } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type ImportOptions, importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it, vi } from "vitest";
import { bytes, delivery, folder, ndjson, watchedInbox } from "../dump.ts";
import * as shapes from "./captured-shapes.ts";

const { readable, unreadable } = shapes;

const secret = newSecret();
const receivedAt = "2026-11-01T12:00:00.000Z";
const event = { id: "msg_1", type: "esim.enabled", data: sampleData("esim.enabled") };
const none = { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };

interface Captured {
  readonly headers: Record<string, unknown>;
  readonly body: string;
  readonly receivedAt: string;
}

function captured(options: Partial<Parameters<typeof signedRequest>[1]> = {}, id = "msg_1"): Captured {
  const { headers, body } = signedRequest({ ...event, id }, { secret, at: new Date(receivedAt), ...options });
  return { headers, body, receivedAt };
}

function imported(record: unknown, options: ImportOptions = {}) {
  return importedFrom(ndjson(record), options);
}

async function importedFrom(dump: AsyncIterable<Uint8Array>, options: ImportOptions = {}) {
  const inbox = watchedInbox();
  const rejectsFile = join(folder(), "rejects.ndjson");
  const report = await importDeliveries(dump, inbox, { secret, rejectsFile, ...options });
  const rejects = readFileSync(rejectsFile, "utf8");
  return {
    ledger: report.ledger,
    entry: inbox.puts[0],
    reject: rejects === "" ? undefined : JSON.parse(rejects),
  };
}

describe("a captured request", () => {
  const request = captured();

  it.each(readable)(
    "is verified %s, at the time it was received, and stored with its signed bytes",
    async (_, file) => {
      const { ledger, entry } = await importedFrom(bytes(file.bytes), { secret: shapes.secret });
      expect(ledger).toEqual({ ...none, read: 1, stored: 1 });
      expect(entry).toMatchObject({ id: "msg_1", type: "esim.enabled", event: { id: "msg_1" } });
      expect(Buffer.from(entry?.body ?? []).toString()).toBe(shapes.request.body);
      expect(entry?.replay).toEqual({ run: expect.any(String), rebuilt: false });
      expect(entry?.receivedAt).toEqual(file.receivedAt);
    },
  );

  it.each<[string, string, unknown]>([
    ["was tampered with", "no_matching_key", captured({ fault: "tampered" })],
    ["was signed with another key", "no_matching_key", captured({ fault: "wrong_key" })],
    ["was signed ten minutes before", "timestamp_out_of_tolerance", captured({ fault: "stale" })],
    ["was signed ten minutes after", "timestamp_out_of_tolerance", captured({ fault: "future" })],
    [
      "has half its headers",
      "missing_header",
      { ...request, headers: { "webhook-signature": request.headers["webhook-signature"] } },
    ],
    [
      "has a header twice",
      "no_matching_key",
      { ...request, headers: { ...request.headers, "webhook-id": ["a", "b"] } },
    ],
    ["has another body", "no_matching_key", { ...request, body: "{}" }],
  ])("is rejected when it %s, even with trustUnsigned", async (_, code, record) => {
    for (const trustUnsigned of [false, true]) {
      const { ledger, reject, entry } = await imported(record, { trustUnsigned });
      expect(ledger).toEqual({ ...none, read: 1, rejected: 1 });
      expect(entry).toBeUndefined();
      expect(reject).toMatchObject({ code, reason: expect.any(String), record });
      expect(reject.reason).not.toContain("7301");
    }
  });

  it("is invalid when its headers cannot be read, never imported as an unsigned delivery", async () => {
    const record = { ...captured(), ...delivery("msg_1"), headers: "webhook-signature v1,x" };
    const { ledger, entry, reject } = await imported(record, { trustUnsigned: true });
    expect(ledger).toEqual({ ...none, read: 1, invalid: 1 });
    expect(entry).toBeUndefined();
    expect(reject.reason).toContain("headers are not");
  });

  it("is rejected for its timestamp, not for a guess of its body, when one of the guesses is authentic", async () => {
    const stale = captured({ fault: "stale" });
    const { reject } = await imported({ ...stale, body: JSON.parse(stale.body) });
    expect(reject.code).toBe("timestamp_out_of_tolerance");
  });

  it("may be signed further before it was received than after it", async () => {
    const toleranceSeconds = { past: 700 };
    const { ledger } = await imported(captured({ fault: "stale" }), { toleranceSeconds });
    expect(ledger).toEqual({ ...none, read: 1, stored: 1 });
    const { reject } = await imported(captured({ fault: "future" }), { toleranceSeconds });
    expect(reject.code).toBe("timestamp_out_of_tolerance");
  });

  it("whose id was sent twice is stored under the id that was signed, as the receiver stores it", async () => {
    const { headers, ...rest } = request;
    for (const id of ["msg_1, msg_1", ["msg_1", "msg_1"]]) {
      const { entry } = await imported({ ...rest, headers: { ...headers, "webhook-id": id } });
      expect(entry).toMatchObject({ id: "msg_1", event: { id: "msg_1" } });
    }
  });

  it("verifies with a secret of another form than that of Standard Webhooks", async () => {
    const hex = Buffer.alloc(20, 7).toString("hex");
    const signed = captured({ secret: Buffer.from(hex, "hex") });
    expect((await imported(signed, { secret: `hex:${hex}` })).ledger).toEqual({
      ...none,
      read: 1,
      stored: 1,
    });
  });

  it("is rejected when its body is an object that does not verify, and the reason says that its bytes are a guess", async () => {
    const { reject } = await imported({ ...request, body: { ...JSON.parse(request.body), extra: 1.5 } });
    expect(reject).toMatchObject({ code: "no_matching_key", reason: expect.stringContaining("guess") });
  });

  it.each<[string, string | null, string | null, boolean]>([
    ["before the key was valid", "2026-11-01T12:00:01Z", null, false],
    ["after the key was valid", null, "2026-11-01T11:59:59Z", false],
    ["while the key was valid, long ago", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", true],
  ])("is verified with the keys of its time: received %s", async (_, notBefore, notAfter, isVerified) => {
    const { ledger } = await imported(request, { secret: [{ secret, notBefore, notAfter }] });
    expect(ledger).toEqual({ ...none, read: 1, [isVerified ? "stored" : "rejected"]: 1 });
  });

  it.each(unreadable)("is invalid %s, and its rejected record says why", async (_, file, reason) => {
    const { ledger, reject } = await importedFrom(bytes(file), { trustUnsigned: true });
    expect(ledger).toEqual({ ...none, read: 1, invalid: 1 });
    expect(reject.code).toBe("not_a_record");
    const { headers, body } = reject.record;
    if (headers !== undefined && body !== undefined) expect(reject.reason).toMatch(reason);
  });

  it.each<[string, unknown, RegExp]>([
    ["receivedAt", { ...request, receivedAt: undefined }, /no receivedAt/],
    ["signature and id", { ...request, headers: {} }, /neither a signature nor a webhook-id/],
  ])("without %s is invalid", async (_, record, reason) => {
    const { ledger, reject } = await imported(record, { trustUnsigned: true });
    expect(ledger).toEqual({ ...none, read: 1, invalid: 1 });
    expect(reject).toMatchObject({ code: "not_a_record", reason: expect.stringMatching(reason) });
  });

  it("without a signature is stored only with trustUnsigned", async () => {
    const { "webhook-signature": _, ...headers } = request.headers;
    await expect(imported({ ...request, headers })).rejects.toMatchObject({ code: "unsigned_dump" });
    for (const body of [request.body, Buffer.from(request.body).toString("base64")]) {
      const { ledger, entry } = await imported({ ...request, headers, body }, { trustUnsigned: true });
      expect(ledger).toEqual({ ...none, read: 1, stored: 1 });
      expect(Buffer.from(entry?.body ?? []).toString()).toBe(request.body);
    }
  });

  it("without a signature and with an object as body is stored as rebuilt, so that it is no conflict with the signed event", async () => {
    const { "webhook-signature": _, ...headers } = request.headers;
    const record = { ...request, headers, body: JSON.parse(request.body) };
    const { entry } = await imported(record, { trustUnsigned: true });
    expect(entry?.replay).toMatchObject({ rebuilt: true });
    expect(JSON.parse(Buffer.from(entry?.body ?? []).toString())).toEqual(record.body);
  });

  it("is read quickly when its body is almost base64 with a million spaces", async () => {
    const before = process.cpuUsage();
    const body = `A${" ".repeat(1_000_000)}!`;
    const { ledger } = await imported({ ...request, body });
    expect(ledger).toEqual({ ...none, read: 1, rejected: 1 });
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(10_000); // it once took minutes
  });

  it("is handled as its signed bytes, not as their base64 reading", async () => {
    const body = Buffer.from(request.body).toString("base64");
    const seconds = request.headers["webhook-timestamp"];
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const mac = createHmac("sha256", key).update(`msg_1.${seconds}.${body}`).digest("base64");
    const record = { ...request, headers: { ...request.headers, "webhook-signature": `v1,${mac}` }, body };
    const handler = vi.fn();
    const { ledger } = await importDeliveries(ndjson(record), { "*": () => handler() }, { secret });
    expect(ledger).toEqual({ ...none, read: 1, invalid: 1 });
    expect(handler).not.toHaveBeenCalled();
  });

  it("is handled inline too, with the time it was received", async () => {
    const handler = vi.fn();
    await importDeliveries(
      ndjson(request),
      { "esim.enabled": (...args) => void handler(...args) },
      { secret },
    );
    expect(handler).toHaveBeenCalledWith(
      expect.objectContaining({ id: "msg_1" }),
      expect.objectContaining({ replayed: true, receivedAt: new Date(receivedAt) }),
    );
  });

  it("is a conflict for handlers when its id was handled with another body, and does not run, also with force", async () => {
    const store = memoryStore();
    const handler = vi.fn();
    const handlers = { "*": () => handler() };
    const receiver = createReceiver(handlers, { secret, store });
    await receiver.receive(signedRequest(event, { secret }));
    const other = signedRequest({ ...event, data: { ...event.data, iccid: "other" } }, { secret });
    const record = { ...other, receivedAt: new Date().toISOString() };
    for (const force of [false, true]) {
      const { ledger } = await importDeliveries(ndjson(record), handlers, { secret, store, force });
      expect(ledger).toEqual({ ...none, read: 1, conflict: 1 });
    }
    expect(handler).toHaveBeenCalledTimes(1);
  });

  it("is a duplicate for handlers when its id was handled with the same body, or only its payload is known", async () => {
    const store = memoryStore();
    const handlers = { "*": () => {} };
    const first = await importDeliveries(ndjson(request), handlers, { secret, store });
    expect(first.ledger).toEqual({ ...none, read: 1, stored: 1 });
    const trusted = { secret, store, trustUnsigned: true };
    const again = await importDeliveries(ndjson(request, delivery("msg_1")), handlers, trusted);
    expect(again.ledger).toEqual({ ...none, read: 2, duplicate: 2 });
  });

  it("is stored when it is authentic but not an event: the worker decides", async () => {
    const { ledger, entry } = await imported(captured({ fault: "invalid" }));
    expect(ledger).toEqual({ ...none, read: 1, stored: 1 });
    expect(entry).toMatchObject({ id: "msg_1", event: null });
  });

  it("can be mapped from another shape, and matches no filter by delivery status", async () => {
    const record = { req: { h: request.headers, b: request.body }, at: receivedAt };
    const mapping = { headers: "req.h", body: "req.b", receivedAt: "at" };
    expect((await imported(record, { mapping })).ledger).toMatchObject({ stored: 1 });
    expect((await imported(request, { statuses: ["failed"] })).ledger).toMatchObject({ filtered: 1 });
  });

  it("needs a secret; other records do not", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", undefined);
    const inbox = watchedInbox();
    const importing = importDeliveries(ndjson(request), inbox);
    await expect(importing).rejects.toMatchObject({ code: "missing_secret" });
    await importDeliveries(ndjson(delivery("a")), inbox, { trustUnsigned: true });
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    await importDeliveries(ndjson(request), inbox);
    vi.unstubAllEnvs();
    expect([...inbox.entries.keys()]).toEqual(["a", "msg_1"]);
  });
});
