import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { webhookHandler } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { sqliteStore } from "@esim-webhooks/store-sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { handlersFor } from "./handlers.ts";

/** A receiver with a store of its own, in a file of its own. */
function start() {
  const folder = mkdtempSync(join(tmpdir(), "replacements-"));
  const path = join(folder, "shop.db");
  const database = new DatabaseSync(path, { timeout: 5000 });
  database.exec("create table replacement (key text primary key, esim text not null)");
  const store = sqliteStore({ path });
  onTestFinished(async () => {
    await store.close();
    database.close();
    rmSync(folder, { recursive: true });
  });
  const notify = vi.fn(async (_esim: string, _key: string) => {});
  const secret = newSecret();
  const receive = webhookHandler(handlersFor(notify), { secret, store });
  const data = sampleData("esim.faulted");
  const event = { type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data } as const;
  const deliver = async (id = "msg_1") => {
    const request = signedRequest({ ...event, id }, { secret });
    return (await receive(new Request("http://localhost/webhooks", request))).json();
  };
  return {
    notify,
    deliver,
    replaced: () => database.prepare("select esim from replacement").all(),
    one: [{ esim: data.esimReference }],
  };
}

test("a redelivery writes nothing more", async () => {
  const { deliver, replaced, one } = start();
  expect(await deliver()).toEqual({ outcome: "processed" });
  expect(await deliver()).toEqual({ outcome: "duplicate" });
  expect(replaced()).toEqual(one);
});

test("the same event under another id, as after a replay, neither writes nor notifies again", async () => {
  const { notify, deliver, replaced, one } = start();
  expect(await deliver("msg_1")).toEqual({ outcome: "processed" });
  expect(await deliver("msg_2")).toEqual({ outcome: "discarded" });
  expect(replaced()).toEqual(one);
  expect(notify).toHaveBeenCalledOnce();
});

test("a handler that throws has written nothing, and its next attempt writes once", async () => {
  const { notify, deliver, replaced, one } = start();
  notify.mockRejectedValueOnce(new Error("the mail server is down"));
  expect(await deliver()).toMatchObject({ code: "failed" });
  expect(replaced()).toEqual([]);
  expect(await deliver()).toEqual({ outcome: "processed" });
  expect(replaced()).toEqual(one);
});
