import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { cli, folder, jsonLines, secret } from "../cli.ts";

const at = new Date("2026-11-20T09:30:00.000Z");
const data = sampleData("esim.enabled");
const request = signedRequest({ id: "msg_1", type: "esim.enabled", data }, { secret, at });
const receivedAt = "2026-11-20T09:30:01Z";

function captured(changes: object = {}, { headers, body }: SignedRequest = request): string {
  return JSON.stringify({ headers, body, receivedAt, ...changes });
}

const verified = (input: string, ...args: string[]) => cli(["verify", ...args], { input });

describe("verify", () => {
  it.each([
    ["as text", captured()],
    ["as base64", captured({ body: Buffer.from(request.body).toString("base64") })],
    [
      "as base64 with isBase64Encoded",
      captured({ body: Buffer.from(request.body).toString("base64"), isBase64Encoded: true }),
    ],
    ["as JSON", captured({ body: JSON.parse(request.body) })],
    [
      "as text, and header names in capitals with lists of values",
      captured({
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name.toUpperCase(), [value]]),
        ),
      }),
    ],
  ])("verifies a request at the time it was received, with its body %s", async (_, input) => {
    const { code, stdout } = await verified(input);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✔ authentic {2}msg_1 {2}signed with key:[0-9a-f]{8}/);
    expect(stdout).toContain("esim.enabled: matches its schema");
  });

  it("reads the text of an HTTP request, from standard input or a file", async () => {
    const lines = [
      "POST /webhooks HTTP/1.1",
      ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
    ];
    const http = `${lines.join("\r\n")}\r\n\r\n${request.body}`;
    const cwd = folder({ "request.http": http });
    expect((await cli(["verify", "request.http", "--at", receivedAt], { cwd })).code).toBe(0);
    const late = await verified(http);
    expect(late.code).toBe(3);
    expect(late.stdout).toContain("clock_skew");
  });

  it.each([
    [
      "wrong_secret_or_body",
      captured({}, signedRequest({ type: "esim.enabled", data }, { secret, at, fault: "tampered" })),
    ],
    [
      "wrong_secret_or_body",
      captured({}, signedRequest({ type: "esim.enabled", data }, { secret: newSecret(), at })),
    ],
    ["missing_header", captured({ headers: {} })],
    ["clock_skew", captured({ receivedAt: "2026-11-20T10:30:00Z" })],
    ["body_reserialised", captured({ body: JSON.stringify(JSON.parse(request.body), null, 4) })],
  ])("gives the finding %s for a request that is not authentic, and ends with 3", async (finding, input) => {
    const { code, stdout, stderr } = await verified(input);
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
    expect(stdout).toMatch(/^✘ refused /);
    expect(stdout).toContain(`  ${finding}: `);
    expect(stdout).not.toContain(data.iccid);
  });

  it("tells a timestamp in milliseconds from a wrong clock", async () => {
    const inMilliseconds = signedRequest(
      { id: "msg_1", type: "esim.enabled", data, timestamp: at.toISOString() },
      { secret, at: new Date(at.getTime() * 1000) },
    );
    const { code, stdout } = await verified(captured({}, inMilliseconds));
    expect(code).toBe(3);
    expect(stdout).toContain(
      "timestamp_out_of_tolerance: webhook-timestamp is in milliseconds, not in seconds",
    );
    expect(stdout).toMatch(/timestamp_not_in_seconds: .* Read as milliseconds, it is right\. Let the sender/);
    expect(stdout).not.toContain("clock_skew");
  });

  it("says how to write a secret whose form it was not told, and verifies with it", async () => {
    const hex = Buffer.alloc(32, 7).toString("hex");
    const input = captured(
      {},
      signedRequest({ type: "esim.enabled", data }, { secret: Buffer.from(hex, "hex"), at }),
    );
    const withSecret = (value: string) => cli(["verify"], { input, env: { ESIM_WEBHOOK_SECRET: value } });
    const unsure = await withSecret(hex);
    expect(unsure.code).toBe(3);
    expect(unsure.stdout).toMatch(
      /^✘ refused {2}no_matching_key: there is no usable key now \(at .*\)\n {2}secret_misread: .* read as hex\. Write hex: before it\.\n$/,
    );
    expect((await withSecret(`utf8:${hex}`)).stdout).toContain("Write hex: in place of utf8:.");
    expect((await withSecret(`hex:${hex}`)).stdout).toMatch(/^✔ authentic/);
  });

  it("says that the key of a delivery is not valid yet", async () => {
    const keys = JSON.stringify([{ secret, notBefore: "2026-11-20T10:00:00Z" }]);
    const cwd = folder({ "esim-webhooks.config.ts": `export default { secret: ${keys} };` });
    const { code, stdout } = await cli(["verify"], {
      input: captured(),
      cwd,
      env: { ESIM_WEBHOOK_SECRET: "" },
    });
    expect(code).toBe(3);
    expect(stdout).toMatch(/^✘ refused {2}key_not_yet_valid: key:\w{8} made the signature/);
    expect(stdout).toContain("  key_outside_window: ");
  });

  it.each([["v1,"], [""], ["sha256="]])("says that a signature is in hex: %s…", async (prefix) => {
    const headers = { ...request.headers, "webhook-signature": `${prefix}${"0a".repeat(32)}` };
    const { code, stdout } = await verified(captured({ headers }));
    expect(code).toBe(3);
    expect(stdout).toContain(
      "hex_signature: The webhook-signature is in hex. The partner API writes v1, and base64",
    );
  });

  it("says that the bytes of a body captured as JSON are a guess", async () => {
    const other = signedRequest({ type: "esim.enabled", data }, { secret, at, fault: "tampered" });
    const { stdout } = await verified(captured({ body: JSON.parse(other.body) }, other));
    expect(stdout).toContain("its bytes are a guess");
  });

  it("prints JSON, and verifies with --tolerance and --at", async () => {
    const input = captured({ receivedAt: undefined });
    const [near] = jsonLines(
      await verified(input, "--json", "--at", "2026-11-20T09:40:00Z", "--tolerance", "601"),
    );
    expect(near).toMatchObject({
      authentic: true,
      id: "msg_1",
      type: "esim.enabled",
      event: "known",
      at: "2026-11-20T09:40:00.000Z",
      findings: [],
    });
    const [far] = jsonLines(await verified(input, "--json", "--at", "2026-11-20T09:40:00Z"));
    expect(far).toMatchObject({
      authentic: false,
      code: "timestamp_out_of_tolerance",
      findings: [{ code: "clock_skew" }],
    });
  });

  it("names the paths, but not the values, when an authentic event does not match its schema", async () => {
    const wrong = signedRequest(
      { type: "esim.enabled", data: { ...data, iccid: 8932042000010012 } },
      { secret, at },
    );
    const { code, stdout } = await verified(captured({}, wrong));
    expect(code).toBe(0);
    expect(stdout).toContain("does not match its schema: data.iccid");
    expect(stdout).not.toContain("8932042000010012");
  });

  it.each([
    ["JSON of something else", "{}"],
    ["broken JSON", '{"headers": '],
    ["neither JSON nor HTTP", "hello"],
    ["nothing", ""],
  ])("ends with 2 for %s", async (_, input) => {
    const { code, stderr } = await verified(input);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Error \(invalid_usage\): This is not a captured request\. .* Give \{ "headers"/);
  });

  it("ends with 2 without a secret", async () => {
    const { code, stderr } = await cli(["verify"], { input: captured(), env: { ESIM_WEBHOOK_SECRET: "" } });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Error (missing_secret)"),
    });
  });
});
