import { type ApiClient, createClient } from "@esim-webhooks/client";
import { type FakeClock, fakeClock } from "../../../packages/client/test/fake-clock.ts";
import { baseGrammar } from "../base-grammar.ts";
import type { Grammar } from "../grammar.ts";
import { checkSecrecy, reader } from "../reader.ts";
import { secrets } from "./signed.ts";

const token = "token-of-ours-7f3a";

/** The codes of the client that an answer alone can cause. */
const codes = [
  ...["bad_request", "unauthorized", "forbidden", "not_found", "conflict", "key_reused", "in_flight"],
  ...["rate_limited", "service_failed", "unexpected_status", "unreadable_answer", "unexpected_answer"],
  ...["secret_not_shown", "timed_out", "connection_lost", "wrong_credentials"],
];

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** A client of a service that gives these answers, and then the last one again. No time passes while it waits. */
function clientOf(answers: readonly Answer[]): { readonly api: ApiClient; readonly clock: FakeClock } {
  const clock = fakeClock();
  let asked = 0;
  const api = createClient({
    baseUrl: "https://api.test/api/v3",
    clientId: "7",
    clientSecret: "s",
    exchange: async () => ({ accessToken: token, expiresInSeconds: 86_400 }),
    clock,
    async fetch() {
      const { status, headers, body } = answers[Math.min(asked, answers.length - 1)] as Answer;
      asked += 1;
      const isBare = status === 204 || status === 205 || status === 304;
      return new Response(isBare ? null : new Uint8Array(body), { status, headers });
    },
  });
  return { api, clock };
}

const answerGrammar: Grammar = {
  ...baseGrammar,
  private: ["a"], // a message has the title of a problem and the reference of an endpoint
  status: [
    "200",
    "200",
    "201",
    "204",
    "301",
    "400",
    "401",
    "403",
    "404",
    "409",
    "422",
    "425",
    "429",
    "500",
    "503",
    "599",
  ],
  retry: ["", "1", "<digits>", "-1", "1e9", "Wed, 21 Oct 2026 07:28:00 GMT", "soon"],
  mine: [token, secrets[0]],
  title: ["Conflict", "<characters>", "<mine>"],
  detail: ["<characters>", "<mine>", "Idempotency key <mine>"],
  problem: [
    '{"type":"about:blank","title":"<title>","status":<number>,"detail":"<detail>"}',
    '{"title":"<title>","<word>":<json>}',
    '{"title":<json>,"detail":<json>,"type":<json>}',
    "<json>",
    "<!doctype html><detail>",
    "<detail>",
    "",
  ],
  endpoint: [
    '{"webhookEndpointReference":"WHE7","url":"https://a.test/","eventTypes":["<type>"],"description":null,"active":true,"createdAt":"<time>","updatedAt":"<time>","signingSecret":"<mine>"}',
    '{"webhookEndpointReference":<text>,"url":<json>,"eventTypes":<json>,"signingSecret":<text>}',
    "<json>",
  ],
  delivery: [
    '{"eventId":"<id>","eventType":"<type>","payload":<event>,"responseBody":<text>,"status":"failed","attemptNumber":<number>,"httpStatus":<json>,"nextRetryAt":"<time>","sentAt":"<time>","deliveredAt":null}',
    '{"eventId":<json>,"payload":<json>}',
    "{<members>}",
    "<json>",
  ],
  deliveries: ["<delivery>", "<delivery>,<deliveries>", ""],
  position: [
    '{"limit":20,"hasMore":false,"nextCursor":null}',
    '{"limit":20,"hasMore":true,"nextCursor":"c<digits>"}',
    '{"limit":<json>,"hasMore":<json>,"nextCursor":<json>}',
    "<json>",
  ],
  page: [
    '{"data":[<deliveries>],"pagination":<position>}',
    '{"data":<json>,"pagination":<position>}',
    "<problem>",
  ],
};

function answerOf(status: string, retry: string, body: string): Answer {
  const number = Number(status);
  return {
    status: Number.isInteger(number) && number >= 200 && number <= 599 ? number : 200,
    headers: /^[ -~]+$/.test(retry) ? { "retry-after": retry } : {},
    body: Buffer.from(body, "latin1"),
  };
}

const checkOwn = (message: string) => checkSecrecy(message, "the message", [token]);

const mostPages = 5;

async function idsOf({ webhooks }: ApiClient): Promise<readonly unknown[]> {
  const ids: unknown[] = [];
  let pages = 0;
  for await (const { data } of webhooks.deliveries("WHE7").pages()) {
    ids.push(...data.map(({ eventId }) => eventId));
    pages += 1;
    if (pages === mostPages) throw new Error("a listing that never ends");
  }
  return ids;
}

const listing = reader({
  name: "listing: pages of deliveries",
  share: 1,
  grammar: answerGrammar,
  parts: ["<status>", "<page>", "<page>"],
  throws: codes,
  prepare: ([status = "", first = "", second = ""]) =>
    clientOf([answerOf("200", "", first), answerOf(status, "", second)]),
  call: ({ api, clock }) => clock.run(idsOf(api)),
  check(ids) {
    if (!ids.every((id) => id === null || typeof id === "string")) throw new Error("an id that is no text");
  },
  checkError: checkOwn,
});

const problem = reader({
  name: "problem: the answer to a change",
  share: 1,
  grammar: {
    ...answerGrammar,
    answer: ["<problem>", '{"data":<endpoint>}', "<endpoint>"],
    call: ["create", "order"],
  },
  parts: ["<status>", "<retry>", "<answer>", "<call>"],
  throws: codes,
  prepare: ([status = "", retry = "", body = "", call = ""]) => ({
    ...clientOf([answerOf(status, retry, body)]),
    call,
  }),
  call: ({ api, clock, call }) =>
    clock.run<unknown>(
      call === "order"
        ? api.esims.order({})
        : api.webhooks.create({ url: "https://a.test/", eventTypes: ["esim.enabled"] }),
    ),
  check(answer, { call }) {
    if (call === "order") return;
    const { signingSecret } = answer as { readonly signingSecret: string };
    if (typeof signingSecret !== "string") throw new Error("an endpoint without its secret");
    if (JSON.stringify(answer).includes(signingSecret) && signingSecret.startsWith("whsec_"))
      throw new Error("an endpoint that prints its secret");
  },
  checkError: checkOwn,
});

export const answerReaders = [listing, problem];
