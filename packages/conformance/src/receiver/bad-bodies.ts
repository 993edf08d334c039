import assert from "node:assert/strict";
import { assertAnswer, authentic, base, envelope, exchange, type Scenario } from "./scenario.ts";

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

/** Authentic bodies that are no envelopes, or that are easily changed on the way to the handler. */
export const badBodies: readonly Scenario[] = [
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
