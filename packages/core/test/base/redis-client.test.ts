import { expect, it } from "vitest";
import { withoutArguments } from "../../src/base/redis-client.ts";

it("removes a password and the data of events from the errors of ioredis, also from those of a Cluster's nodes", () => {
  const refused = Object.assign(new Error("NOAUTH"), { command: { name: "auth", args: ["secret"] } });
  const failed = Object.assign(new Error("OOM"), { command: { name: "evalsha", args: ["an id"] } });
  const ofCluster = Object.assign(failed, { lastNodeError: refused });
  expect(withoutArguments(ofCluster)).toBe(ofCluster);
  expect(JSON.stringify(ofCluster)).toBe(
    '{"command":{"name":"evalsha"},"lastNodeError":{"command":{"name":"auth"}}}',
  );
});
