import { describe, expect, it } from "vitest";
import { made } from "../../../endpoint/test/served-listing.ts";
import { createRelay, type Posting } from "../../src/listen/relay.ts";
import type { Answer, NoAnswer } from "../../src/send/post.ts";

const ok: Answer = { status: 200, body: "", ms: 1 };
const failed: Answer = { status: 500, body: "", ms: 1 };
const down: NoAnswer = { reason: "unconnected", cause: new Error("ECONNREFUSED"), ms: 1 };
const broken: NoAnswer = { reason: "broken", cause: new Error("ECONNRESET"), ms: 1 };

const event = (id: string) => made({ id, occurredMs: 0 });

/** A relay to a receiver that gives these answers in order, then 200. Resolves when so many events have an end. */
async function relayed(
  ids: readonly string[],
  answers: readonly (Answer | NoAnswer | undefined)[],
  ends = ids.length,
) {
  const posted: string[] = [];
  const postings: Posting[] = [];
  const receiver: boolean[] = [];
  const stop = new AbortController();
  let left = ends;
  const given = answers.values();
  const relay = createRelay({
    async post({ eventId }) {
      posted.push(eventId ?? "");
      const { value, done } = given.next();
      return done ? ok : value;
    },
    onPosting(posting) {
      postings.push(posting);
      if (posting.state !== "retrying") left -= 1;
      if (left === 0) stop.abort();
    },
    onReceiver: (isUp) => receiver.push(isUp),
    pausesMs: [1, 1],
    lookEveryMs: 1,
  });
  const running = relay.run(stop.signal);
  relay.add(ids.map(event));
  await running;
  return { posted, states: postings.map(({ state }) => state), receiver, counts: relay.counts(), postings };
}

describe("the relay to a receiver", () => {
  it("posts events one after the other, in order", async () => {
    const { posted, counts } = await relayed(["a", "b", "c"], []);
    expect(posted).toEqual(["a", "b", "c"]);
    expect(counts).toEqual({ accepted: 3, givenUp: 0, waiting: [] });
  });

  it("posts again what is not answered with 2xx, and lets the others pass meanwhile", async () => {
    const { posted, states } = await relayed(["a", "b"], [failed, ok, broken, ok]);
    expect(posted).toEqual(["a", "b", "a", "a"]);
    expect(states).toEqual(["retrying", "accepted", "retrying", "accepted"]);
  });

  it("gives an event up after the attempts that it has", async () => {
    const { posted, postings, counts } = await relayed(["a"], [failed, failed, failed]);
    expect(posted).toEqual(["a", "a", "a"]);
    expect(postings.map(({ attempt, retryInMs }) => [attempt, retryInMs])).toEqual([
      [1, 1],
      [2, 1],
      [3, undefined],
    ]);
    expect(counts).toMatchObject({ accepted: 0, givenUp: 1 });
  });

  it("waits for a receiver that is not there, says so once, and counts no attempt", async () => {
    const { posted, states, receiver } = await relayed(["a", "b"], [down, down, failed]);
    expect(posted).toEqual(["a", "a", "a", "b", "a"]);
    expect(states).toEqual(["retrying", "accepted", "accepted"]);
    expect(receiver).toEqual([false, true]);
  });

  it("gives up at once what has no body to post", async () => {
    const { states, counts } = await relayed(["a"], [undefined]);
    expect(states).toEqual(["given_up"]);
    expect(counts).toMatchObject({ givenUp: 1 });
  });

  it("has what was not accepted when it is stopped", async () => {
    const { counts } = await relayed(["a", "b", "c"], [failed, ok], 1);
    expect(counts.accepted).toBe(1);
    expect(counts.waiting.map(({ eventId }) => eventId)).toEqual(["c", "a"]);
  });
});
