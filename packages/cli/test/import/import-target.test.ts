import { memoryInbox } from "@esim-webhooks/core/testing";
import { importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it, vi } from "vitest";
import { untouchedTarget } from "../../src/set-up/open-target.ts";
import type { SetUp } from "../../src/set-up/set-up.ts";
import { deliveryRecords } from "./dump.ts";

/** A dry run with --force of one delivery record, into the target of this config. */
async function dryRun(config: SetUp["config"], handlers?: SetUp["handlers"]) {
  const { target } = untouchedTarget({ config, handlers } as SetUp);
  async function* dump() {
    yield Buffer.from(deliveryRecords(1));
  }
  return importDeliveries(dump(), target as never, { dryRun: true, force: true, trustUnsigned: true });
}

describe("a dry run with --force", () => {
  it("refuses a target that can only store events, as the real run does", async () => {
    const put = vi.fn();
    await expect(dryRun({ target: { put } as never })).rejects.toThrow(/does not have the role "rerun"/);
    expect(put).not.toHaveBeenCalled();
  });

  it.each<[string, SetUp["config"], SetUp["handlers"]]>([
    ["a target that can run events again", { target: memoryInbox() }, undefined],
    ["the default inbox", {}, undefined],
    ["handlers", {}, { "*": () => Promise.reject(new Error("touched")) }],
  ])("accepts %s, and does not touch it", async (_, config, handlers) => {
    expect((await dryRun(config, handlers)).ledger).toMatchObject({ read: 1, stored: 1 });
    if (config.target) expect(await memoryCount(config.target)).toBe(0);
  });
});

async function memoryCount(target: unknown): Promise<number> {
  return (target as ReturnType<typeof memoryInbox>).count({});
}
