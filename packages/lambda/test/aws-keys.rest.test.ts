import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SSMClient } from "@aws-sdk/client-ssm";
import { createReceiver, type KeyStore } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { type AwsKeysOptions, secretsManagerKeys } from "@esim-webhooks/lambda/secrets-manager";
import { ssmKeys } from "@esim-webhooks/lambda/ssm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { rotatingWith } from "../../endpoint/test/rotate/rotating.ts";
import { type AwsKeysServer, startAwsKeys } from "./aws-keys-server.ts";

expectWarnings("no_matching_key");

let server: AwsKeysServer;
let names = 0;

interface Kind {
  readonly kind: string;
  open(name: string, options?: AwsKeysOptions): KeyStore;
  /** Stores a text as an operator does, in the console or with a template. */
  paste(name: string, text: string): Promise<unknown>;
  /** The call that makes a write take effect. */
  readonly decisive: string;
  readonly get: string;
}

const credentials = { accessKeyId: "test", secretAccessKey: "test" };
const clientOf = <Client>(Type: new (settings: object) => Client): Client =>
  new Type({ endpoint: server.url, region: "us-east-1", credentials });

async function call(target: string, input: object): Promise<void> {
  const headers = { "x-amz-target": target, "content-type": "application/x-amz-json-1.1" };
  await fetch(server.url, { method: "POST", headers, body: JSON.stringify(input) });
}

const kinds: readonly Kind[] = [
  {
    kind: "secretsManagerKeys",
    open: (name, options) => secretsManagerKeys(name, { client: clientOf(SecretsManagerClient), ...options }),
    async paste(name, text) {
      await call("secretsmanager.CreateSecret", { Name: name });
      const input = { SecretId: name, SecretString: text, ClientRequestToken: crypto.randomUUID() };
      await call("secretsmanager.PutSecretValue", input);
    },
    decisive: "UpdateSecretVersionStage",
    get: "GetSecretValue",
  },
  {
    kind: "ssmKeys",
    open: (name, options) => ssmKeys(name, { client: clientOf(SSMClient), ...options }),
    paste: (name, text) => call("AmazonSSM.PutParameter", { Name: name, Value: text, Overwrite: true }),
    decisive: "PutParameter",
    get: "GetParameter",
  },
];

beforeAll(async () => {
  server = await startAwsKeys();
});
afterAll(() => server.close());
beforeEach(() => {
  names += 1;
  server.before = () => {};
  server.calls.length = 0;
});

describe.each(kinds)("$kind", ({ open, paste, decisive, get }) => {
  const name = () => `/esim/keys-${names}`;

  it("reads a secret that was pasted as plain text, and several while rotating", async () => {
    const [one, other] = [newSecret(), newSecret()];
    const keys = open(name());
    await expect(keys.load()).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining(name()),
    });
    await paste(name(), one);
    expect(await keys.load()).toEqual({ keys: [one] });
    await paste(name(), `${other}\n${one}\n`);
    expect(await open(name()).load()).toEqual({ keys: [other, one] });
    const stored = await keys.read();
    expect(await keys.write({ keys: [other] }, stored?.version)).toBe(true);
    expect(await keys.load()).toEqual({ keys: [other] });
  });

  it("names the place of a text that is no secret, and does not quote it", async () => {
    await paste(name(), '{"ESIM_WEBHOOK_SECRET":"whsec_c2VjcmV0"}');
    const refused = await open(name())
      .load()
      .catch((error) => error);
    expect(refused).toMatchObject({ code: "invalid_secret", where: expect.stringContaining(name()) });
    expect(refused.message).not.toContain("c2VjcmV0");
  });

  it("asks AWS once in 5 s, says meanwhile that its answer may be outdated, and then sees a change", async () => {
    const [old, next] = [newSecret(), newSecret()];
    await paste(name(), old);
    const keys = open(name());
    const now = vi.spyOn(performance, "now").mockReturnValue(1_000_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await keys.load()).toEqual({ keys: [old] });
    await paste(name(), next);
    server.calls.length = 0;
    now.mockReturnValue(1_004_999);
    const before = Date.now();
    const cached = await keys.load();
    expect(cached).toMatchObject({ keys: [old] });
    expect("rotatingUntil" in cached && Number(cached.rotatingUntil) > before).toBe(true);
    expect(server.calls).toEqual([]);
    now.mockReturnValue(1_005_000);
    expect(await keys.load()).toEqual({ keys: [next] });
    expect(server.calls).toEqual([get]);
  });

  it("refuses no delivery of a new key by what is cached: it is answered 503, and accepted later", async () => {
    const [old, next] = [newSecret(), newSecret()];
    await paste(name(), old);
    const keys = open(name(), { cacheMs: 60_000 });
    await keys.load();
    const receiver = createReceiver({ "*": () => {} }, { secret: keys });
    const { headers, body } = signedDelivery(next);
    await paste(name(), `${old} ${next}`);
    const delivery = { method: "POST", headers, body };
    expect(await receiver.receive(delivery)).toMatchObject({ status: 503, outcome: { code: "rotating" } });
    const monotonic = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => monotonic() + 60_001);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await receiver.receive(delivery)).toMatchObject({ status: 200 });
  });

  it("answers true for a write whose first answer was lost, although its repetition is refused", async () => {
    const secret = newSecret();
    await paste(name(), newSecret());
    const keys = open(name());
    const stored = await keys.read();
    let lost = 0;
    const proxied = open(name(), {
      client: repeating(decisive, () => {
        lost += 1;
      }),
    });
    expect(await proxied.write({ keys: [secret] }, stored?.version)).toBe(true);
    expect(lost).toBe(1);
    expect(await keys.load()).toEqual({ keys: [secret] });
  });

  it("answers false, and changes nothing, when another process writes between its read and its write", async () => {
    await paste(name(), newSecret());
    const [keys, other] = [open(name()), open(name())];
    const stored = await keys.read();
    const theirs = newSecret();
    let isFirst = true;
    server.before = async (operation) => {
      if (operation !== decisive || !isFirst) return;
      isFirst = false;
      expect(await other.write({ keys: [theirs] }, stored?.version)).toBe(true);
    };
    expect(await keys.write({ keys: [newSecret()] }, stored?.version)).toBe(false);
    expect(await open(name()).load()).toEqual({ keys: [theirs] });
  });

  it("names the rights that are missing", async () => {
    const denied = Object.assign(new Error("not authorized"), { name: "AccessDeniedException" });
    const keys = open(name(), { client: { send: () => Promise.reject(denied) } });
    await expect(keys.load()).rejects.toMatchObject({
      code: "missing_rights",
      remedy: expect.stringContaining(get),
    });
    const hanging = open(name(), { client: { send: () => new Promise(() => {}) }, timeoutMs: 10 });
    await expect(hanging.load()).rejects.toMatchObject({ code: "store_unavailable" });
    expect(() => open("")).toThrow(/there is no name/);
  });

  it("lets rotateSecret replace the endpoint's secret, so that every event is handled once", async () => {
    const writer = open(name());
    // the receivers' own store: what the writer changes does not clear its cache
    const receivers = open(name(), { cacheMs: 0 });
    const keys: KeyStore = { load: () => receivers.load(), read: writer.read, write: writer.write };
    await using world = await rotatingWith(keys, new AsyncDisposableStack());
    const before = await world.emit();
    await world.sandbox.advance("1m");
    const emitted = [before];
    let skippedMs = 0;
    const clock = {
      now: () => Date.now() + skippedMs,
      async wait() {
        await world.sandbox.advance("1s");
        emitted.push(await world.emit());
        skippedMs += 30_000;
      },
    };
    const old = await world.secret();
    await world.rotate({ clock, checkReceivers: true });
    emitted.push(await world.emit());
    await world.sandbox.advance("1m");
    expect(await world.secret()).not.toBe(old);
    expect((await writer.read())?.record).toEqual({
      keys: [{ secret: await world.secret(), endpoint: world.endpoint }],
    });
    expect(world.handled.toSorted()).toEqual(emitted.toSorted());
  });
});

/** A client that sends the call twice, as the SDK does when the first answer was lost. */
function repeating(operation: string, onLost: () => void): NonNullable<AwsKeysOptions["client"]> {
  const settings = { endpoint: server.url, region: "us-east-1", credentials };
  const client: NonNullable<AwsKeysOptions["client"]> =
    operation === "PutParameter" ? new SSMClient(settings) : new SecretsManagerClient(settings);
  return {
    async send(command, options) {
      if ((command as object).constructor.name !== `${operation}Command`)
        return client.send(command, options);
      await client.send(command, options);
      onLost();
      return client.send(command, options);
    },
  };
}
