import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { ensureFlags, rotateFlags } from "../../src/endpoint/flags.ts";
import { errorInFlags, inFlags } from "../../src/flags/in-flags.ts";
import { importFlags } from "../../src/import/flags.ts";

describe("a sentence of a library", () => {
  it("names the flags that set its options, also those of another name", () => {
    expect(inFlags('Set { source: "shop eu" }, or { newSource: true }.', importFlags)).toBe(
      "Set --source 'shop eu', or --new-source.",
    );
    expect(inFlags("Raise the option maxUnpackedBytes.", importFlags)).toBe("Raise --max-unpacked-bytes.");
    expect(inFlags("Set { checkReceivers: false }, or wait.", rotateFlags)).toBe("Set --no-check, or wait.");
  });

  it("names the command of a flag that this one does not have, and keeps every other option", () => {
    expect(inFlags("Reconcile it once with { since }.", rotateFlags)).toBe(
      "Reconcile it once with esim-webhooks reconcile --since.",
    );
    const kept = "Pass { store } or { port: 1 }, and the source of the events since then.";
    expect(inFlags(kept, importFlags)).toBe(kept);
  });
});

describe("an error of a library", () => {
  it("keeps its code and its cause", () => {
    const cause = new Error("why");
    const remedy = "With { acceptLoss: true }, it is deleted.";
    const error = new WebhookError<EndpointErrorCode>("not_settled", "It is not.", remedy, { cause });
    expect(errorInFlags(error, ensureFlags)).toMatchObject({
      ...{ code: "not_settled", message: "It is not. With --accept-loss, it is deleted.", cause },
    });
  });

  it("is the same one if it names no option of a flag", () => {
    for (const error of [new WebhookError("invalid_option", "No.", "Pass { store }."), new TypeError("x")])
      expect(errorInFlags(error, ensureFlags)).toBe(error);
  });
});
