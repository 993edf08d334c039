import { createKeyring, verify } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { readable, request, secret, unreadable } from "../../../import/test/record/captured-shapes.ts";
import { readCaptured } from "../../src/verify/captured.ts";

const read = (shape: unknown) => readCaptured(Buffer.from(JSON.stringify(shape)));

describe("a captured request on the command line", () => {
  it.each(readable)("is read as an import reads it: %s", (_, shape) => {
    const { headers, bodies, receivedAt } = read(shape);
    const proofs = bodies.map((body) =>
      verify({ headers, body }, createKeyring(secret), { at: receivedAt ?? new Date(Number.NaN) }),
    );
    expect(proofs.some(({ ok }) => ok)).toBe(true);
    expect(Buffer.from(bodies[0]).toString()).toBe(request.body);
  });

  it.each(unreadable)("is refused as an import refuses it: %s", (_, shape, reason) => {
    expect(() => read(shape)).toThrow(reason);
    expect(() => read(shape)).toThrow(/^This is not a captured request\. Its .* Give \{ "headers"/);
  });

  it("may lack receivedAt, which --at replaces", () => {
    expect(read({ ...request, receivedAt: undefined }).receivedAt).toBeNull();
  });
});
