import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, start, startInTerminal } from "../cli.ts";
import { type Service, startService } from "./service.ts";

const url = "https://shop.example/webhooks";
const create = ["endpoints", "create", url, "--types", "esim.faulted"];
async function endpointsOf({ api }: Service) {
  return (await api.webhooks.list().page()).data;
}

describe("api endpoints create", () => {
  it("leaves no file when it is stopped, says how to go on, and ends with 130", async () => {
    const { sandbox, env } = await startService();
    const cwd = folder();
    sandbox.faults.add({ kind: "hang", call: "POST /management/webhooks" });
    const { child, ended } = start(["api", ...create, "--key-file", "hook.key"], { cwd, env });
    await expect.poll(() => sandbox.faults.list()).toEqual([]); // it has struck
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain(
      "Error (aborted): Aborted. The endpoint may be registered, and its secret is lost",
    );
    expect(existsSync(join(cwd, "hook.key"))).toBe(false);
  });
});

describe("api endpoints delete", () => {
  it("asks first on a terminal", async () => {
    const service = await startService();
    const { webhookEndpointReference: reference } = await service.api.webhooks.create({
      url,
      eventTypes: ["esim.faulted"],
    });
    const asked = startInTerminal(["api", "endpoints", "delete", reference], { env: service.env });
    await asked.written(/Delete the endpoint \S+\? .*\[y\/N\]/);
    asked.child.stdin?.write("n\n");
    expect((await asked.ended).stdout).toContain("Nothing was changed.");
    expect(await endpointsOf(service)).toHaveLength(1);
  });
});
