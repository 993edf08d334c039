import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verify } from "@esim-webhooks/core";
import { startSandbox } from "@esim-webhooks/sandbox";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { call, register } from "./control/call.ts";
import { startEndpoint } from "./sender/endpoint.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-sandbox-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe("startSandbox", () => {
  it("listens on loopback alone, on any free port, and gives the credentials of its client", async () => {
    await using sandbox = await startSandbox();
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v3$/);
    expect(sandbox.controlUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(sandbox.credentials).toEqual({
      clientId: expect.stringMatching(/^\d{6}$/),
      clientSecret: expect.stringMatching(/^\S{20,}$/),
    });
  });

  it("keeps its state in the folder that is named", async () => {
    const data = join(folder(), "made", "by it");
    const first = await startSandbox({ data });
    await first.close();
    await using second = await startSandbox({ data });
    expect(second.credentials).toEqual(first.credentials);
  });

  it("is closed for everybody who closes it when it is closed", async () => {
    const data = folder();
    const first = await startSandbox({ data });
    const closing = first.close();
    await first.close();
    await using second = await startSandbox({ data }); // which one process uses at a time
    expect(second.credentials).toEqual(first.credentials);
    await closing;
  });

  it("can be closed while its clock is advanced, and says so there", async () => {
    await using endpoint = await startEndpoint(() => undefined);
    const sandbox = await startSandbox({ clock: "manual" });
    await register(sandbox, endpoint.url);
    await sandbox.emit({ type: "esim.enabled", data: {} });
    const advances = [sandbox.advance("8h"), sandbox.advance("8h")];
    const told = Promise.all(
      advances.map((one) => expect(one).rejects.toThrow(/^This sandbox is closed\. /)),
    );
    await expect.poll(() => endpoint.got.length).toBe(1);
    await sandbox.close();
    await told;
  });

  it("says which port is taken, and which option chooses another", async () => {
    await using first = await startSandbox();
    const port = Number(new URL(first.url).port);
    await expect(startSandbox({ port })).rejects.toMatchObject({
      code: "cannot_listen",
      message: expect.stringMatching(
        new RegExp(
          `port ${port} .* for the API: another program, perhaps another sandbox, has it\\. Choose another with the option port;`,
        ),
      ),
    });
    await expect(startSandbox({ controlPort: port })).rejects.toThrow(
      /for the control side: .*the option controlPort;/,
    );
  });

  it.each([
    [{ speeed: 2 }, /there is no option "speeed"\. Did you mean "speed"\?/],
    [{ speed: 2, clock: "manual" }, /manual clock has no speed\. Leave out/],
    [{ switches: { inFlght: "423" } }, /There is no switch "inFlght"\. Did you mean "inFlight"\?/],
    [{ switches: { inFlight: "424" } }, /The switch "inFlight" cannot be "424"\. .*"409"\|"423"\./],
    [{ switches: { burst: "x" } }, /The switch "burst" cannot be "x"\. Expected a whole number from 1 on\./],
    [{ switches: { listingLagMs: -1 } }, /"listingLagMs" cannot be -1\. Expected a whole number from 0 on\./],
    [{ switches: "inFlight=423" }, /"switches": .*expected object/],
    [{ port: 4012, controlPort: 4012 }, /cannot both listen on port 4012\. Give each a port of its own\./],
  ])("refuses %j", async (options, message) => {
    await expect(startSandbox(options as never)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    [{ clock: "manual" }, "off"],
    [{ clock: "manual", switches: { rateLimit: "on" } }, "on"],
    [{}, "on"],
    [{ speed: 2, switches: { rateLimit: "off" } }, "off"],
  ] as const)("with %j, the switch rateLimit is %s", async (options, rateLimit) => {
    await using sandbox = await startSandbox(options);
    const state = await fetch(`${sandbox.controlUrl}/state`);
    expect(await state.json()).toMatchObject({ data: { switches: { rateLimit } } });
  });

  it("has the real time in the Date header of its answers, at any time of its clock", async () => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await sandbox.advance("30d");
    for (const url of [`${sandbox.url}/management/client`, sandbox.controlUrl]) {
      const { headers } = await fetch(url);
      const aheadMs = Date.parse(headers.get("date") ?? "") - Date.now();
      expect(Math.abs(aheadMs)).toBeLessThan(24 * 60 * 60 * 1000);
    }
  });

  it("makes ten attempts by itself, as much faster as its speed says", async () => {
    await using endpoint = await startEndpoint(() => 500);
    await using sandbox = await startSandbox({ port: 0, speed: 20_000 }); // 15 h 51 min 30 s take 3 s, and the 7 days that a delivery is kept half a minute
    await register(sandbox, endpoint.url);
    const esim = await sandbox.orderEsim();
    const deliveries = async () => (await call(sandbox, "GET", "/deliveries")).data;
    await expect
      .poll(deliveries)
      .toMatchObject([{ status: "exhausted", attemptNumber: 10, esimReference: esim.esimReference }]);
    expect(endpoint.got).toHaveLength(10);
  });

  it("has random faults strike the same deliveries again with the same seed", async () => {
    async function statuses(seed: number): Promise<unknown[]> {
      await using endpoint = await startEndpoint();
      await using sandbox = await startSandbox({ clock: "manual", seed });
      await register(sandbox, endpoint.url);
      sandbox.faults.add({ kind: "wrong_signature", probability: 0.5 });
      for (let n = 0; n < 30; n++) await sandbox.emit({ type: "esim.enabled", data: {} });
      await sandbox.settled();
      const [{ signingSecret } = {}] = (await call(sandbox, "GET", "/endpoints")).data;
      const { data } = await call(sandbox, "GET", "/deliveries?limit=100");
      return data.map(({ headers, body, receivedAt }) => {
        const delivery = { headers: headers as Record<string, string>, body: String(body) };
        return verify(delivery, String(signingSecret), { at: new Date(String(receivedAt)) }).ok;
      });
    }
    const once = await statuses(7);
    expect(new Set(once)).toEqual(new Set([true, false]));
    expect(await statuses(7)).toEqual(once);
    expect(await statuses(8)).not.toEqual(once);
  });

  it("says which Node.js it needs, on one without SQLite", async () => {
    const getBuiltinModule = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    onTestFinished(() => getBuiltinModule.mockRestore());
    await expect(startSandbox()).rejects.toMatchObject({
      code: "unsupported_node",
      message: `The sandbox needs node:sqlite, which Node.js ${process.versions.node} does not have. Use Node.js 22.18 or newer.`,
    });
  });

  it.skipIf(process.platform === "win32")(
    "refuses a symbolic link as its database, and leaves the mode of the file that it points to",
    async () => {
      const [data, other] = [folder(), join(folder(), "other")];
      writeFileSync(other, "");
      chmodSync(other, 0o644);
      symlinkSync(other, join(data, "sandbox.db"));
      await expect(startSandbox({ data })).rejects.toMatchObject({
        code: "unusable_data",
        message: `The file sandbox.db in ${data} is a symbolic link. Name the folder that has the file itself.`,
      });
      expect(statSync(other).mode & 0o777).toBe(0o644);
    },
  );

  it("says that a file is not a folder it could keep its state in", async () => {
    const file = join(folder(), "file");
    writeFileSync(file, "");
    await expect(startSandbox({ data: file })).rejects.toMatchObject({
      code: "unusable_data",
      message: expect.stringContaining(file),
    });
  });
});
