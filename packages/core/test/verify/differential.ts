import { createHmac } from "node:crypto";
import { verify } from "@esim-webhooks/core";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, vi } from "vitest";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const oracle = new Webhook(secret);
const nowSeconds = Math.floor(Date.now() / 1000);

interface Sample {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: Uint8Array;
}

/** Where we are stricter than `standardwebhooks`, and only there: it accepts, we refuse. */
const stricter: Readonly<Record<string, (sample: Sample) => boolean>> = {
  "timestamp with anything but digits, or too long": ({ timestamp }) => !/^\d{1,16}$/.test(timestamp),
  "timestamp with leading zeros, which is signed as sent": ({ timestamp }) => /^0\d/.test(timestamp),
  "id of more than 1,024 bytes": ({ id }) => Buffer.byteLength(id) > 1024,
};

/** Where it is `standardwebhooks` that refuses: the true bytes are signed, and it hashes other ones. */
const nonUtf8 = ({ body }: Sample) => !Buffer.from(Buffer.from(body).toString()).equals(body);

const body = fc.oneof(
  fc.json().map((text) => Buffer.from(text)),
  fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 200 }),
);
const id = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^msg_[A-Za-z0-9]{1,30}$/) },
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.constantFrom("m,s", "m s", "mé", "m".repeat(1024), "m".repeat(1025), "a.b.c"),
);
const timestamp = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -240, max: 240 }).map((offset) => String(nowSeconds + offset)) },
  fc
    .integer({ min: -4000, max: 4000 })
    .filter((o) => Math.abs(Math.abs(o) - 300) > 60)
    .map((offset) => String(nowSeconds + offset)),
  fc.constantFrom(
    `${nowSeconds}junk`,
    `${nowSeconds}.5`,
    `0${nowSeconds}`,
    `-${nowSeconds}`,
    `+${nowSeconds}`,
    "soon",
    "1e9",
  ),
);
/** Turns the right signature into the header's value. */
const signatureOf = fc.constantFrom<(right: string) => string>(
  (right) => right,
  (right) => right,
  (right) => right,
  (right) => `v2,abc ${right}`,
  (right) => `${right} v1,abc`,
  (right) => `v1a,xyz v1,${"A".repeat(43)}= ${right}`,
  (right) => `${right},extra`,
  (right) => right.replace("v1,", "v2,"),
  (right) => right.replace("v1,", ""),
  (right) => right.slice(0, -1),
  (right) => right.slice(0, -2),
  (right) => right.toLowerCase(),
  (right) => ` ${right} `,
  (right) => `${Array(70).fill("v1,x").join(" ")} ${right}`,
  () => "v1,",
  () => "v1",
);

function signedBy(key: string, { id, timestamp, body }: Omit<Sample, "signature">): string {
  const hmac = createHmac("sha256", Buffer.from(key.slice("whsec_".length), "base64"));
  return `v1,${hmac
    .update(`${id}.${Number.parseInt(timestamp, 10)}.`)
    .update(body)
    .digest("base64")}`;
}

const sample = fc
  .record({ id, timestamp, body, signatureOf, key: fc.constantFrom(secret, secret, secret, other) })
  .map(
    ({ signatureOf: toHeader, key, ...parts }): Sample => ({
      ...parts,
      signature: toHeader(signedBy(key, parts)),
    }),
  );

function headersOf({ id, timestamp, signature }: Sample) {
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}

function oracleAccepts(given: Sample): boolean {
  try {
    oracle.verify(Buffer.from(given.body), headersOf(given), { jsonParse: false } as never);
    return true;
  } catch {
    return false;
  }
}

/** Verifies so many generated deliveries both ways: 4,000 or more, in which each difference is seen. */
export function expectTheSameVerdictsOn(deliveries: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: nowSeconds * 1000 });
  onTestFinished(() => void vi.useRealTimers());
  const seen = { both: 0, neither: 0, onlyOracle: new Map<string, number>(), onlyUs: 0 };
  fc.assert(
    fc.property(sample, (given) => {
      const ours = verify({ headers: headersOf(given), body: given.body }, secret).ok;
      const theirs = oracleAccepts(given);
      if (ours === theirs) {
        seen[ours ? "both" : "neither"] += 1;
        return;
      }
      if (ours) {
        expect(nonUtf8(given)).toBe(true);
        seen.onlyUs += 1;
        return;
      }
      const reason =
        Object.keys(stricter).find((name) => stricter[name]?.(given)) ?? "none: a difference without a name";
      expect(Object.keys(stricter)).toContain(reason);
      seen.onlyOracle.set(reason, (seen.onlyOracle.get(reason) ?? 0) + 1);
    }),
    { numRuns: deliveries },
  );
  expect(seen.both).toBeGreaterThan(0.12 * deliveries);
  expect(seen.neither).toBeGreaterThan(0.12 * deliveries);
  expect([...seen.onlyOracle.keys()].sort()).toEqual(Object.keys(stricter).sort());
  expect(seen.onlyUs).toBeGreaterThan(0.004 * deliveries);
}
