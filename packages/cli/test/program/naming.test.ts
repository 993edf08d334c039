import { ApiError } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { at } from "../../src/program/naming.ts";

describe("an error with the place of its mistake", () => {
  it("names the file or the variable in place of the function that reads it", () => {
    const cause = new Error("why");
    const messageOf = (where?: string) =>
      at("c.ts", new WebhookError("invalid_option", "It is wrong.", "Correct it.", { where, cause }));
    for (const where of ["createWorker", undefined])
      expect(messageOf(where)).toMatchObject({ message: "c.ts: It is wrong. Correct it.", cause });
    expect(messageOf("The key file k")).toMatchObject({
      message: "c.ts: The key file k: It is wrong. Correct it.",
    });
  });

  it("stays as it is without a place, and when the API or another program made it", () => {
    const error = new WebhookError("invalid_option", "It is wrong.", "Correct it.");
    expect(at(undefined, error)).toBe(error);
    for (const other of [new TypeError("x"), new ApiError("conflict", "no.", "Look.", {})])
      expect(at("c.ts", other)).toBe(other);
  });
});
