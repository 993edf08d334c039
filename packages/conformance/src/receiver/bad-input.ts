import assert from "node:assert/strict";
import { memoryStore, sign, type WebhookEvent } from "@esim-webhooks/core";
import { longestId } from "../base/longest-id.ts";
import { assertAnswer, faulted, recording, recordingLogger, type Scenario, secret } from "./scenario.ts";
import type { RunningServer } from "./server.ts";
import { type Answer, answerOn, send, sendHalf, type WireRequest } from "./wire.ts";

type Headers = Record<string, string | readonly string[]>;

/** Sends one request to a new receiver. Resolves to the answer and the events that the handler got. */
type Exchange = (request: WireRequest) => Promise<{ answer: Answer; events: readonly WebhookEvent[] }>;

const now = new Date("2026-11-20T12:00:00.400Z");
const nowSeconds = Math.floor(now.getTime() / 1000);
const good = faulted({ at: now });
const goodSignature = good.headers["webhook-signature"] as string;
const wrongSignature = `v1,${Buffer.alloc(32, 7).toString("base64")}`;

/** One exchange with a fixed clock. */
function exchange(sentence: string, run: (exchange: Exchange) => Promise<void>): Scenario {
  return [
    sentence,
    (withServer) => {
      const { handlers, events } = recording();
      const options = { secret, clock: { now: () => now.getTime() } };
      return withServer(handlers, options, ({ url }) =>
        run(async (request) => ({ answer: await send(url, request), events })),
      );
    },
  ];
}

/** Replaces the good headers with each of these. Expects a refusal with `code`, and that no handler runs. */
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

/** An authentic request with exactly these bytes as its body. */
function authentic(body: string | Uint8Array, id = "msg_bytes", timestamp = now): WireRequest {
  return { headers: { ...sign({ id, body, timestamp }, secret) }, body };
}

function envelope(data: string): string {
  return `{"type":"esim.faulted","timestamp":"2026-11-20T12:00:00Z","data":${data}}`;
}

/** Sends an authentic request, and checks the `data` that the handler gets. */
function handled(
  sentence: string,
  body: string | Uint8Array,
  check: (data: Record<string, unknown>) => void,
): Scenario {
  return exchange(sentence, async (exchangeOne) => {
    const { answer, events } = await exchangeOne(authentic(body));
    assertAnswer(answer, 200, "processed");
    assert.equal(events.length, 1);
    check(events[0]?.data as Record<string, unknown>);
  });
}

const base = '"profileReference":"1","esimReference":"2","reason":"unknown"';

const headerCases: readonly Scenario[] = [
  exchange("answers 400 when one of the three headers is missing or empty", async (exchangeOne) => {
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      const { [name]: _, ...others } = good.headers;
      assertAnswer((await exchangeOne({ headers: others, body: good.body })).answer, 400, "missing_header");
      const empty = { ...others, [name]: "" };
      assertAnswer((await exchangeOne({ headers: empty, body: good.body })).answer, 400, "missing_header");
    }
  }),
  refusedHeaders("answers 400 when one of the three headers is repeated", 400, "malformed_header", [
    { "webhook-id": ["msg_a", "msg_a"] },
    { "webhook-timestamp": [String(nowSeconds), String(nowSeconds)] },
    { "webhook-signature": [goodSignature, goodSignature] },
  ]),
  refusedHeaders("answers 400 to overlong headers", 400, "malformed_header", [
    { "webhook-id": "m".repeat(1025) },
    { "webhook-timestamp": "1".repeat(17) },
    { "webhook-signature": `v2,${"A".repeat(5000)} ${goodSignature}` },
  ]),
  exchange("takes every id of up to 1,024 visible ASCII characters, commas included", async (exchangeOne) => {
    const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, n) => 33 + n));
    for (const id of [visible, ",", "a,b", longestId]) {
      const { answer, events } = await exchangeOne(authentic(envelope(`{${base}}`), id));
      assertAnswer(answer, 200, "processed");
      assert.equal(events.at(-1)?.id, id);
    }
  }),
  refusedHeaders("answers 400 to timestamps that are not plain digits", 400, "malformed_header", [
    { "webhook-timestamp": `-${nowSeconds}` },
    { "webhook-timestamp": `+${nowSeconds}` },
    { "webhook-timestamp": `${nowSeconds}.5` },
    { "webhook-timestamp": `${nowSeconds}junk` },
    { "webhook-timestamp": `0x${nowSeconds.toString(16)}` },
    { "webhook-timestamp": "1e9" },
    { "webhook-timestamp": now.toISOString() },
  ]),
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
    { "webhook-signature": `${goodSignature},` },
  ]),
  refusedHeaders("answers 401 when no signature of the list is right", 401, "no_matching_key", [
    { "webhook-signature": wrongSignature },
    { "webhook-signature": `${wrongSignature} ${wrongSignature}` },
  ]),
  exchange("accepts one good signature among unknown versions, junk or 50 bad ones", async (exchangeOne) => {
    for (const list of [
      `v2,abc v1a,def ${goodSignature}`,
      `${goodSignature} v9,whatever`,
      `junk  v1,x ${goodSignature}`,
      `${Array(50).fill(wrongSignature).join(" ")} ${goodSignature}`,
    ]) {
      const headers = { ...good.headers, "webhook-signature": list };
      assert.equal((await exchangeOne({ headers, body: good.body })).answer.status, 200);
    }
  }),
  refusedHeaders("answers 400 to more signatures than a sender can mean", 400, "malformed_header", [
    { "webhook-signature": `${Array(64).fill(wrongSignature).join(" ")} ${goodSignature}` },
  ]),
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

const bodyCases: readonly Scenario[] = [
  exchange("answers 500, not 4xx, to authentic bodies that are no envelope", async (exchangeOne) => {
    const bodies = [
      "",
      " ",
      "not json",
      "null",
      "[]",
      '"text"',
      "{}",
      '{"type":"esim.faulted"}',
      '{"type":7,"timestamp":"2026-11-20T12:00:00Z","data":{}}',
      '{"type":"esim.faulted","timestamp":"soon","data":{}}',
      envelope("[]"),
      envelope("null"),
      `${envelope(`{${base}}`)}\0`,
      Buffer.concat([Buffer.from(envelope(`{${base},"x":"`)), Buffer.from([0xfe]), Buffer.from('"}}')]),
    ];
    for (const body of bodies) {
      const { answer, events } = await exchangeOne(authentic(body));
      assertAnswer(answer, 500, "invalid");
      assert.equal(events.length, 0);
    }
  }),
  exchange("distinguishes bodies that differ only in bytes that are not UTF-8", async (exchangeOne) => {
    const { headers } = authentic(Buffer.from([0xfe]));
    assertAnswer(
      (await exchangeOne({ headers: headers ?? {}, body: Buffer.from([0xff]) })).answer,
      401,
      "no_matching_key",
    );
  }),
  handled("handles a body with a byte order mark", `\ufeff${envelope(`{${base}}`)}`, () => {}),
  handled("handles a NUL in a string", envelope(`{${base},"note":"a\\u0000b"}`), (data) =>
    assert.equal(data["note"], "a\0b"),
  ),
  handled(
    "handles numbers and escapes that a re-serialised body would change",
    envelope(`{${base},"big":12345678901234567890,"float":1.0,"path":"a\\/b","e":"\\u00e9","big":1}`),
    (data) => assert.equal(data["e"], "é"),
  ),
  handled(
    "handles __proto__ keys and pollutes no prototype",
    envelope(`{${base},"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`),
    (data) => {
      assert.equal(data["polluted"], undefined);
      assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
    },
  ),
  handled(
    "handles 100,000 levels of nesting",
    envelope(`{${base},"deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
    (data) => assert.ok(Array.isArray(data["deep"])),
  ),
  handled("handles bodies with $& and $$ in them", envelope(`{${base},"note":"$& $$ $1"}`), (data) =>
    assert.equal(data["note"], "$& $$ $1"),
  ),
  exchange("handles a chunked body whose characters are cut between chunks", async (exchangeOne) => {
    const body = Buffer.from(envelope(`{${base},"note":"żółć 🛰️"}`));
    const chunks = [...body].map((byte) => Buffer.from([byte]));
    const { answer, events } = await exchangeOne({ ...authentic(body), body: chunks });
    assertAnswer(answer, 200, "processed");
    assert.deepEqual(
      events.map(({ data }) => (data as { note?: unknown }).note),
      ["żółć 🛰️"],
    );
  }),
];

const connectionCases: readonly Scenario[] = [
  [
    "gives up at once when a client disconnects half-way, and keeps serving others",
    async (withServer) => {
      const { handlers, events } = recording();
      const gone = Promise.withResolvers<void>();
      const nothing = () => {};
      const onWarning = ({ outcome }: { outcome?: unknown }) =>
        outcome === "body_incomplete" && gone.resolve();
      const logger = { debug: nothing, info: nothing, warn: onWarning, error: nothing };
      await withServer(handlers, { secret, logger }, async ({ url, shutDown }) => {
        const { headers, body } = faulted();
        const socket = await sendHalf(url, headers, body.slice(0, 40), body.length);
        socket.resetAndDestroy();
        await gone.promise;
        assertAnswer(await send(url, faulted()), 200, "processed");
        assert.equal(events.length, 1);
        await shutDown();
      });
    },
  ],
  [
    "logs body_incomplete, not body_consumed, when a client leaves while the host's own middleware takes its time",
    async (withServer) => {
      const { handlers } = recording();
      for (const isWhole of [true, false]) {
        const { logger, lines } = recordingLogger();
        const { headers, body } = faulted();
        const reached = Promise.withResolvers<void>();
        const goOn = Promise.withResolvers<void>();
        let requests = 0;
        const before = async () => {
          requests += 1;
          reached.resolve();
          if (requests === 1) await goOn.promise;
        };
        const use = async ({ url, shutDown }: RunningServer) => {
          const socket = await sendHalf(url, headers, body, isWhole ? body.length : body.length + 1);
          const ignored = answerOn(socket).then(() => assert.fail("the server does not await `before`"));
          await Promise.race([reached.promise, ignored]);
          socket.resetAndDestroy();
          assertAnswer(await send(url, faulted()), 200, "processed"); // the server has seen the client leave
          goOn.resolve();
          assertAnswer(await send(url, faulted()), 200, "processed");
          await shutDown();
        };
        await withServer(handlers, { secret, logger }, use, before);
        const outcomes = lines.filter(({ id }) => id === headers["webhook-id"]).map(({ outcome }) => outcome);
        // a body that came as a whole may still be there, and is authentic
        if (isWhole) assert.match(String(outcomes), /^(body_incomplete|processed)$/);
        else assert.deepEqual(outcomes, ["body_incomplete"]);
      }
    },
  ],
  [
    "runs the handler once for 100 concurrent deliveries of one id, and answers the others 200 or 503",
    async (withServer) => {
      let runs = 0;
      const handlers = {
        "*": async () => {
          runs += 1;
          await new Promise((resolve) => setImmediate(resolve));
        },
      };
      await withServer(handlers, { secret }, async ({ url }) => {
        for (let round = 0; round < 5; round++) {
          const id = `msg_race_${round}`;
          const request = faulted({ id });
          const answers = await Promise.all(Array.from({ length: 100 }, () => send(url, request)));
          const outcomes = answers.map(
            ({ status, body }) => `${status} ${JSON.parse(body).outcome ?? JSON.parse(body).code}`,
          );
          assert.equal(runs, round + 1);
          assert.equal(outcomes.filter((outcome) => outcome === "200 processed").length, 1);
          for (const outcome of outcomes) assert.match(outcome, /^(200 processed|200 duplicate|503 busy)$/);
        }
      });
    },
  ],
];

export const badInput: readonly Scenario[] = [...headerCases, ...bodyCases, ...connectionCases];
