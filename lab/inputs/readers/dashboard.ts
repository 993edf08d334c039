import { memoryInbox } from "@esim-webhooks/core/testing";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { loggerWith } from "../../../test/support/loggers.ts";
import { baseGrammar } from "../base-grammar.ts";
import { textOf } from "../grammar.ts";
import { checkSecrecy, privates, reader } from "../reader.ts";

const inbox = memoryInbox({ logger: loggerWith() });
const failed: unknown[] = [];
const noting = loggerWith({ error: (fields) => failed.push(fields) });
const dashboard = inboxDashboard(inbox, {
  authorize: ({ headers }) => ({
    role: headers.get("x-role") === "operator" ? "operator" : "viewer",
    name: "a",
  }),
  logger: noting as never,
});

const data = {
  esimReference: "730155284096617302",
  iccid: privates[0],
  msisdn: privates[1],
  note: privates[2],
};
const body = { type: "esim.enabled", timestamp: "2026-11-20T10:00:00Z", data };
for (const id of ["msg_7", "msg_77"])
  await inbox.put([
    {
      source: "default",
      id,
      type: body.type,
      event: { id, ...body },
      body: Buffer.from(JSON.stringify(body)),
      receivedAt: new Date("2026-11-20T10:00:00Z"),
    },
  ]);

const calls = [
  ...[
    "session",
    "gauges",
    "now",
    "list",
    "count",
    "event",
    "types",
    "typeCounts",
    "runs",
    "endpoints",
    "progress",
  ],
  ...["reveal", "retry", "discard", "giveUp", "pause", "resume", "erasable", "erase"],
];

export const dashboardReaders = [
  reader({
    name: "dashboard: a request",
    share: 1,
    grammar: {
      ...baseGrammar,
      call: [...calls, "<word>"],
      path: ["api/<call>", "api/<call>", "api/<call>", "", "assets/<word>", "<characters>", "api/<call>/"],
      method: ["POST", "POST", "POST", "GET", "PUT", "HEAD"],
      state: ['"ready"', '"dead"', '"done"', '"unhandled"', "<json>"],
      key: ['"source":"default","id":"msg_7"', '"source":<text>,"id":"<id>"', '"source":<json>,"id":<json>'],
      rule: [
        ...[
          '"states":[<state>]',
          '"state":<state>',
          '"types":["<type>"]',
          '"since":"<time>"',
          '"subject":<text>',
        ],
        ...['"id":"<id>"', '"error":<text>', '"lane":<text>', "<member>"],
      ],
      rules: ["<rule>", "<rule>,<rules>", ""],
      filter: ['"filter":{<rules>}', '"filter":{}', '"filter":<json>'],
      argument: [
        ...["<key>", "<filter>", '"cursor":<text>', '"most":<number>', '"reason":<text>', '"type":"<type>"'],
        ...[
          '"forMs":<number>',
          '"ids":[<items>]',
          '"source":"default"',
          '"subject":<text>',
          '"state":<state>',
        ],
        ...['"replaces":<text>', '"type":null', '"refresh":true', "<member>"],
      ],
      arguments: ["<argument>", "<argument>,<arguments>"],
      input: ["{<arguments>}", "{<filter>}", "{<key>}", "{}", "<json>", "<characters>", "<long>"],
      origin: ["same-origin", "same-origin", "same-origin", "cross-site", ""],
      role: ["operator", "viewer"],
    },
    parts: ["<method>", "<path>", "<input>", "<origin>", "<role>"],
    throws: [],
    prepare([method = "", path = "", input = "", origin = "", role = ""]) {
      failed.length = 0;
      const known = ["POST", "GET", "PUT", "HEAD"].includes(method) ? method : "POST";
      const url = new URL(
        `http://ops.example/inbox/${encodeURI(textOf(path.slice(0, 4096)).toWellFormed())}`,
      );
      const headers: Record<string, string> = {
        "content-type": "application/json",
        "x-esim-webhooks-dashboard": "1",
        "x-role": role === "operator" ? role : "viewer",
        ...(/^[!-~]+$/.test(origin) && { "sec-fetch-site": origin }),
      };
      const isBare = known === "GET" || known === "HEAD";
      const request = new Request(url, {
        method: known,
        headers,
        body: isBare ? null : Buffer.from(input, "latin1"),
      });
      return { request, role };
    },
    async call({ request }) {
      const response = await dashboard(request);
      return { status: response.status, text: await response.text() };
    },
    check({ status, text }, { role }) {
      if (status >= 500) {
        const { err } = (failed[0] ?? {}) as { readonly err?: Error };
        throw new Error(`the answer is ${status}: ${err?.message.slice(0, 100)}`, { cause: err });
      }
      if (role !== "operator") checkSecrecy(text, "the answer to a viewer");
      if (status < 400 || !text.startsWith("{")) return;
      const { code, message } = JSON.parse(text);
      if (!/^[a-z_]+$/.test(code) || !/\. \S.*\S$/s.test(message))
        throw new Error(`a failure without its halves: ${text}`);
    },
  }),
];
