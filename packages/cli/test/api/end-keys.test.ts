import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { endKeysOf } from "../../src/api/endpoints-delete.ts";
import { setUpOf } from "../set-up/set-up-of.ts";

it("ends the keys of a deleted endpoint, and no others", async () => {
  const folder = mkdtempSync(join(tmpdir(), "end-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = fileKeySource(join(folder, "esim.key"));
  const [unnamed, deleted, other] = [newSecret(), newSecret(), newSecret()];
  const others = [unnamed, { secret: other, endpoint: "WHE2" }];
  await secret.write({ keys: [{ secret: deleted, endpoint: "WHE1" }, ...others] }, undefined);
  const setUp = setUpOf({ secret });

  expect(await endKeysOf(setUp, "WHE1", Date.now())).toEqual({
    keys: [expect.stringMatching(/^key:[0-9a-f]{8}$/)],
    where: secret.keyFile,
  });
  const [ended, ...left] = (await secret.read())?.record.keys ?? [];
  expect(ended).toEqual({ secret: deleted, endpoint: "WHE1", notAfter: expect.any(String) });
  expect(left).toEqual(others);
  expect(await endKeysOf(setUp, "WHE3", Date.now())).toMatchObject({ keys: [] });
});
