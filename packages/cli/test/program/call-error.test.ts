import { ApiError } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { explainedCall, explainedCreate } from "../../src/program/call-error.ts";

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
