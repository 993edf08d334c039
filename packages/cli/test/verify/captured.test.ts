import { gzipSync } from "node:zlib";
import { createKeyring, verify } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import {
  readable,
  request,
  secret,
  several,
  unreadable,
} from "../../../import/test/record/captured-shapes.ts";
import { readCaptured } from "../../src/verify/verify.ts";

describe("a captured request on the command line", () => {
  it.each(readable)("is read as an import reads it: %s", async (_, file) => {
    const { headers, bodies, receivedAt } = await readCaptured(file.bytes);
    expect(receivedAt).toEqual(file.receivedAt);
    const proofs = bodies.map((body) =>
      verify({ headers, body }, createKeyring(secret), { at: file.receivedAt }),
    );
    expect(proofs.some(({ ok }) => ok)).toBe(true);
    expect(Buffer.from(bodies[0]).toString()).toBe(request.body);
  });

  it("is read also if one of its headers has the name of a property of all objects", async () => {
    const file = Buffer.from("__proto__: a\nconstructor: b\nconstructor: c\n\n{}");
    const { headers, bodies } = await readCaptured(file);
    expect(Object.entries(headers)).toEqual([
      ["__proto__", ["a"]],
      ["constructor", ["b", "c"]],
    ]);
    expect(bodies).toEqual([Buffer.from("{}")]);
  });

  it.each(unreadable)("is refused as an import refuses it: %s", async (_, file, reason) => {
    await expect(readCaptured(file)).rejects.toThrow(reason);
    await expect(readCaptured(file)).rejects.toThrow(
      /^This is not a captured request\. Its .* Give \{ "headers"/,
    );
  });

  it.each([
    [
      "several requests",
      several,
      /It is a list of several requests, and only one can be verified at a time\./,
    ],
    ["an empty list", Buffer.from("[]"), /It is a list with nothing in it\./],
    ["an empty file", Buffer.from("\n"), /It is empty\./],
    ["a damaged archive", gzipSync("{}").subarray(0, 15), /It is damaged or incomplete\./],
    ["JSON that ends early", Buffer.from('{"headers": '), /It is damaged or incomplete\./],
    ["text", Buffer.from("hello"), /It is neither JSON nor HTTP\./],
  ])("is refused with a message that names %s", async (_, file, message) => {
    await expect(readCaptured(file)).rejects.toThrow(message);
  });

  it("may lack receivedAt, which --at replaces", async () => {
    const file = Buffer.from(JSON.stringify(request));
    expect((await readCaptured(file)).receivedAt).toBeNull();
  });
});
