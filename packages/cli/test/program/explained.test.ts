import { ApiError } from "@esim-webhooks/client";
import { type ErrorSubject, WebhookError } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import {
  type Called,
  explained,
  explainedCall,
  explainedCreate,
  explainedText,
} from "../../src/program/explained.ts";

const problem = "It could not be done.";
const remedy = "Call it again with anOption: 1.";

function worded(code: string, called: Called, subject: ErrorSubject & { cause?: unknown } = {}): unknown {
  return explained(new WebhookError<string>(code, problem, remedy, subject), called);
}

describe("an error of a library", () => {
  it.each<[string, Called, ErrorSubject, RegExp]>([
    ["invalid_secret", { command: "endpoint ensure" }, { option: "secretForm" }, /--secret-form: hex/],
    ["invalid_secret", { command: "rotate" }, { option: "secretForm" }, /Rotate again .* --secret-form/],
    ["not_settled", { command: "endpoint ensure" }, { option: "acceptLoss" }, /--since.*--accept-loss/],
    [
      "receivers_not_ready",
      { command: "rotate" },
      { option: "checkReceivers" },
      /unset ESIM_WEBHOOK_SECRET .*add --no-check\.$/,
    ],
    ["endpoint_cap", { command: "endpoint ensure" }, {}, /esim-webhooks api endpoints list/],
    ["endpoint_unknown", { command: "endpoint ensure" }, {}, /esim-webhooks endpoint ensure <url>/],
    ["no_watermark", { command: "reconcile" }, { option: "since" }, /Add --since with the time/],
    ["no_watermark", { command: "rotate" }, { option: "since" }, /reconcile --since .*--no-reconcile/],
    ["source_unknown", { command: "import" }, { option: "source" }, /--source; or add --new-source/],
    ["unsigned_dump", { command: "import", dump: "a.json" }, {}, /^a\.json has .* --trust-unsigned\.$/],
    ["checkpoint_mismatch", { command: "import", checkpoint: "a.json" }, {}, /^a\.json belongs to/],
    ["foreign_file", { command: "import" }, { path: "a.json" }, /--rejects or --checkpoint/],
    ["durable_store_required", { config: "c.ts" }, { option: "store" }, /^The store in c\.ts is not durable/],
  ])("%s is worded for %j, about %j", (code, called, subject, expected) => {
    const cause = new Error("why");
    const error = worded(code, called, { ...subject, cause }) as WebhookError<string>;
    expect(error).toMatchObject({ code, message: expect.stringMatching(expected), cause });
    expect(error.message).not.toContain("anOption");
  });

  it.each(["not_settled", "receivers_not_ready", "invalid_secret", "store_unavailable", "invalid_state"])(
    "%s stays as it is when it names no option and the store has no name",
    (code) => {
      const error = new WebhookError<string>(code, problem, remedy);
      expect(explained(error, { command: "rotate" })).toBe(error);
    },
  );

  it("names the file or the variable in place of the function that reads it", () => {
    const writtenIn = "esim-webhooks.config.ts";
    const messageOf = (where?: string) =>
      (worded("invalid_option", { writtenIn }, { where }) as Error).message;
    expect(messageOf("createWorker")).toBe(`${writtenIn}: ${problem} ${remedy}`);
    expect(messageOf()).toBe(`${writtenIn}: ${problem} ${remedy}`);
    expect(messageOf("The key file k")).toBe(`${writtenIn}: The key file k: ${problem} ${remedy}`);
  });

  it("names the store that does not answer, and keeps the error as the cause", () => {
    const store = { name: "Postgres at db/shop", remedy: "Check DATABASE_URL." };
    const error = worded("store_unavailable", { store });
    expect(error).toMatchObject({
      message: "Postgres at db/shop cannot be reached, or refused what it was asked. Check DATABASE_URL.",
      cause: { message: `${problem} ${remedy}` },
    });
  });

  it("is worded in the report of a dump that is too large", () => {
    const damage = { code: "dump_too_large", problem, remedy, option: "maxUnpackedBytes" };
    expect(explainedText(damage, { command: "import" })).toContain("raise --max-unpacked-bytes;");
    expect(explainedText({ ...damage, code: "damaged_dump" }, {})).toBe(`${problem} ${remedy}`);
  });
});

describe("an error of a call", () => {
  const answer = { where: "client.get", status: 409, attempts: 1 };

  it("says what the service says, without the names of functions", () => {
    const problemDetails = { title: "Taken", detail: "The number is taken." };
    const error = new ApiError("conflict", "the service answered 409.", "See error.problemDetails.", {
      ...answer,
      problemDetails,
    });
    expect(explainedCall(error)).toMatchObject({
      code: "conflict",
      message: "The service answered 409. The service says: The number is taken.",
    });
    const silent = new ApiError("conflict", "the service answered 409.", "See error.problemDetails.", {
      ...answer,
      problemDetails: { title: "Taken" },
    });
    expect(explainedCall(silent)).toMatchObject({
      message: "The service answered 409. The service does not say why.",
    });
  });

  it("says how long to wait, and what to repeat, in place of the fields of an error", () => {
    const limited = new ApiError("rate_limited", "too soon.", "See error.retryAfterMs.", {
      retryAfterMs: 2500,
    });
    expect(explainedCall(limited)).toMatchObject({ message: "Too soon. Run it again in 3s." });
    const inFlight = new ApiError("in_flight", "still under way.", "Use error.idempotencyKey.", answer);
    expect((explainedCall(inFlight) as Error).message).not.toContain("error.");
  });

  it("is that of the token, if the call needed one", () => {
    const cause = new ApiError("wrong_credentials", "refused.", "Check them.", { where: "auth.token" });
    const error = new ApiError("wrong_credentials", "there is no token.", cause.message, { cause });
    expect(explainedCall(error)).toMatchObject({ message: "Refused. Check them." });
  });

  it("says that an endpoint may be registered, unless nothing was sent", () => {
    const lost = new ApiError("connection_lost", "it broke.", "Call again.", { attempts: 1 });
    expect(explainedCreate(lost)).toMatchObject({ message: expect.stringContaining("may be registered") });
    const unsent = new ApiError("unreachable", "nothing answers.", "Call again.", { attempts: 0 });
    expect(explainedCreate(unsent)).toBe(unsent);
  });
});
