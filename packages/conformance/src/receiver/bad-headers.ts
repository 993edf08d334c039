import assert from "node:assert/strict";
import { memoryStore } from "@esim-webhooks/core";
import { longestId } from "../base/longest-id.ts";
import {
  assertAnswer,
  authentic,
  base,
  envelope,
  exchange,
  faulted,
  now,
  recording,
  type Scenario,
  secret,
  signedWith,
} from "./scenario.ts";
import { send } from "./wire.ts";

type Headers = Record<string, string | readonly string[]>;

const nowSeconds = Math.floor(now.getTime() / 1000);
const good = faulted({ at: now });
const goodSignature = good.headers["webhook-signature"] as string;
const wrongSignature = `v1,${Buffer.alloc(32, 7).toString("base64")}`;

/** The UTF-8 bytes of a text, as a string with one character for each byte. */
const inUtf8 = (text: string) => Buffer.from(text).toString("latin1");

/** Timestamps that are not Unix seconds in plain digits. */
const otherTimestamps: readonly string[] = [
  "",
  `-${nowSeconds}`,
  `+${nowSeconds}`,
  `${nowSeconds}.5`,
  `${nowSeconds}junk`,
  `0x${nowSeconds.toString(16)}`,
  "1e9",
  `${nowSeconds}000000000`,
  now.toISOString(),
];

/** Sends a request for each case, whose headers replace the good ones of the same names. Expects a refusal with `code`, and that no handler runs. */
function refusedHeaders(sentence: string, status: number, code: string, cases: readonly Headers[]): Scenario {
  return exchange(sentence, async (exchangeOne) => {
    for (const headers of cases) {
      const { answer, events } = await exchangeOne({
        headers: { ...good.headers, ...headers },
        body: good.body,
      });
      assertAnswer(answer, status, code);
      assert.equal(events.length, 0);
    }
  });
}

/** Signature headers at the limits of their grammar, and beyond. */
export const badHeaders: readonly Scenario[] = [
  exchange(
    "answers 400 when one of the three headers is missing, or the signature is empty",
    async (exchangeOne) => {
      for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
        const { [name]: _, ...others } = good.headers;
        assertAnswer((await exchangeOne({ headers: others, body: good.body })).answer, 400, "missing_header");
      }
      const headers = { ...good.headers, "webhook-signature": "" };
      assertAnswer((await exchangeOne({ headers, body: good.body })).answer, 400, "missing_header");
    },
  ),
  refusedHeaders("answers 401 when the id or the timestamp is not the signed one", 401, "no_matching_key", [
    { "webhook-id": "" },
    { "webhook-id": ["msg_a", "msg_a"] },
    { "webhook-id": "m".repeat(1025) },
    { "webhook-id": "m\u00e9\t" },
    ...otherTimestamps.map((timestamp) => ({ "webhook-timestamp": timestamp })),
    { "webhook-timestamp": [String(nowSeconds), String(nowSeconds + 1)] },
  ]),
  exchange("takes an id and a timestamp that were sent twice as sent once", async (exchangeOne) => {
    for (const name of ["webhook-id", "webhook-timestamp"]) {
      const { headers, body } = faulted({ at: now });
      const twice = { ...headers, [name]: [headers[name] as string, headers[name] as string] };
      const { answer, events } = await exchangeOne({ headers: twice, body });
      assertAnswer(answer, 200, "processed");
      assert.equal(events.at(-1)?.id, headers["webhook-id"]);
    }
  }),
  exchange("takes every id of up to 1,024 bytes, as the signed bytes spell it", async (exchangeOne) => {
    const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, n) => 33 + n));
    for (const id of [visible, ",", "a,b", "a, b", "a  b", "a\tb", longestId]) {
      const { answer, events } = await exchangeOne(signedWith(id));
      assertAnswer(answer, 200, "processed");
      assert.equal(events.at(-1)?.id, id);
    }
    for (const [id, sent] of [
      ["žluťoučký 🦓", inUtf8("žluťoučký 🦓")],
      ["é".repeat(512), inUtf8("é".repeat(512))],
    ] as const) {
      const { answer, events } = await exchangeOne(signedWith(sent));
      assertAnswer(answer, 200, "processed");
      assert.equal(events.at(-1)?.id, id);
    }
  }),
  exchange("takes an id that is sent in latin1, signed in latin1 or in UTF-8", async (exchangeOne) => {
    for (const [id, signed] of [
      ["é", "é"],
      ["è", inUtf8("è")],
    ] as const) {
      const { answer, events } = await exchangeOne(signedWith(id, { signed }));
      assertAnswer(answer, 200, "processed");
      assert.equal(events.at(-1)?.id, id);
    }
  }),
  exchange(
    "runs the handler once for an id that is sent in UTF-8 and then in latin1",
    async (exchangeOne) => {
      const signed = inUtf8("é");
      assertAnswer((await exchangeOne(signedWith(signed))).answer, 200, "processed");
      assertAnswer((await exchangeOne(signedWith("é", { signed }))).answer, 200, "duplicate");
    },
  ),
  exchange(
    "answers 503 to authentic timestamps that are not in Unix seconds, as digits",
    async (exchangeOne) => {
      for (const timestamp of otherTimestamps) {
        const { answer, events } = await exchangeOne(signedWith("msg_1", { timestamp }));
        assertAnswer(answer, 503, "unusable_header");
        assert.equal(events.length, 0);
      }
    },
  ),
  exchange("accepts timestamps 300 s off, either way, and answers 503 at 301 s", async (exchangeOne) => {
    for (const [offset, status, code] of [
      [-300, 200, "processed"],
      [300, 200, "processed"],
      [-301, 503, "timestamp_out_of_tolerance"],
      [301, 503, "timestamp_out_of_tolerance"],
    ] as const) {
      const signedAt = new Date((nowSeconds + offset) * 1000);
      const request = authentic(envelope(`{${base}}`), `msg_${offset}`, signedAt);
      assertAnswer((await exchangeOne(request)).answer, status, code);
    }
  }),
  exchange("answers 503 to an authentic timestamp in milliseconds", async (exchangeOne) => {
    const inMilliseconds = authentic(envelope(`{${base}}`), "msg_ms", new Date(now.getTime() * 1000));
    const { answer, events } = await exchangeOne(inMilliseconds);
    assertAnswer(answer, 503, "timestamp_out_of_tolerance");
    assert.equal(events.length, 0);
  }),
  refusedHeaders("answers 400 when there is no v1 signature to check", 400, "malformed_header", [
    { "webhook-signature": goodSignature.replace("v1,", "v2,") },
    { "webhook-signature": goodSignature.replace("v1,", "v1a,") },
    { "webhook-signature": goodSignature.replace("v1,", "") },
    { "webhook-signature": "v1," },
    { "webhook-signature": "v1,not-base64-at-all" },
    { "webhook-signature": goodSignature.slice(0, -5) },
    { "webhook-signature": `${goodSignature}=` },
  ]),
  refusedHeaders("answers 401 when no signature of the list is right", 401, "no_matching_key", [
    { "webhook-signature": wrongSignature },
    { "webhook-signature": `${wrongSignature} ${wrongSignature}` },
  ]),
  exchange("accepts one good signature among unknown versions, junk or 200 bad ones", async (exchangeOne) => {
    for (const list of [
      `v2,abc v1a,def ${goodSignature}`,
      `${goodSignature} v9,other`,
      `junk  v1,x ${goodSignature}`,
      `${Array(200).fill(wrongSignature).join(" ")} ${goodSignature}`,
      `v2,${"A".repeat(5000)} ${goodSignature}`,
      [wrongSignature, goodSignature, wrongSignature],
      `${wrongSignature},${goodSignature},`,
    ]) {
      const headers = { ...good.headers, "webhook-signature": list };
      assert.equal((await exchangeOne({ headers, body: good.body })).answer.status, 200);
    }
  }),
  [
    "accepts a timestamp of 15 h 51 min 30 s ago when `past` allows it, and none from ten minutes ahead",
    async (withServer) => {
      const { handlers, events } = recording();
      const store = memoryStore();
      const durable = { ...store, capabilities: { ...store.capabilities, durable: true } };
      const options = { secret, store: durable, toleranceSeconds: { past: 57_100 } };
      await withServer(handlers, options, async ({ url }) => {
        const signedAt = (seconds: number) => faulted({ at: new Date(Date.now() + seconds * 1000) });
        assertAnswer(await send(url, signedAt(-57_090)), 200, "processed");
        assertAnswer(await send(url, signedAt(600)), 503, "timestamp_out_of_tolerance");
        assert.equal(events.length, 1);
      });
    },
  ],
  [
    "accepts deliveries signed with a secret of another form than that of Standard Webhooks",
    async (withServer) => {
      const { handlers, events } = recording();
      const bytes = Buffer.alloc(20, 7);
      for (const form of [bytes, `hex:${bytes.toString("hex")}`]) {
        await withServer(handlers, { secret: form }, async ({ url }) => {
          assertAnswer(await send(url, faulted({ secret: bytes })), 200, "processed");
          assertAnswer(await send(url, faulted()), 401, "no_matching_key");
        });
      }
      assert.equal(events.length, 2);
    },
  ],
];
