import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { sqliteState } from "@esim-webhooks/store-sqlite";
import { expect, it, onTestFinished } from "vitest";
import { ensureEndpoint } from "../../src/ensure/ensure-endpoint.ts";
import { replaceEndpoint } from "../../src/ensure/replace-endpoint.ts";
import { fastClock } from "../fast-clock.ts";
import { killedAt } from "./killed-at.ts";
import { startService, url } from "./service.ts";

/** Keys in a SQLite file. */
async function sqliteKeys() {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-keys-"));
  const state = sqliteState({ path: join(folder, "keys.db") });
  onTestFinished(async () => {
    await state.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await state.migrate?.();
  return stateKeySource(state);
}

it("keeps the secrets of an endpoint and of what replaces it in SQLite, also after kills", async () => {
  const { api, endpoints } = await startService();
  const keyStore = await sqliteKeys();
  const expectOne = async (eventTypes: readonly string[]) => {
    const all = await endpoints();
    expect(all).toMatchObject([{ eventTypes }]);
    const [{ signingSecret: secret, webhookEndpointReference: endpoint }] = all as [(typeof all)[0] & object];
    expect((await keyStore.read())?.record).toEqual({ keys: [{ secret, endpoint }] });
  };

  const first = { url, eventTypes: ["esim.enabled"] };
  const early = killedAt(3, api, keyStore);
  const begun = ensureEndpoint(early.api, { ...first, keyStore: early.keyStore });
  expect(await Promise.race([begun, early.killed])).toBe("killed");
  expect(await ensureEndpoint(api, { ...first, keyStore })).toMatchObject({ created: true, findings: [] });
  await expectOne(first.eventTypes);

  const second = {
    url,
    eventTypes: ["esim.disabled"],
    clock: fastClock(),
    reconcile: async () => ({
      interrupted: false,
      dryRun: false,
      failing: 0,
      lost: null,
      ledger: { rejected: 0, invalid: 0, conflict: 0, unsettled: 0 },
    }),
  };
  const late = killedAt(7, api, keyStore);
  const replacing = replaceEndpoint(late.api, { ...second, keyStore: late.keyStore });
  expect(await Promise.race([replacing, late.killed])).toBe("killed");
  expect(await replaceEndpoint(api, { ...second, keyStore })).toMatchObject({ findings: [] });
  await expectOne(second.eventTypes);
});
