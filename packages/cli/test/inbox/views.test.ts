import type { InboxFilter, InboxPage, InboxRow, Pause, StoredEvent } from "@esim-webhooks/core";
import { groupByError } from "@esim-webhooks/core/internal";
import { describe, expect, it } from "vitest";
import { eraseView } from "../../src/inbox/erase.ts";
import { errorsView, rowsOf } from "../../src/inbox/errors.ts";
import { listPages, searchNote, searchProgress } from "../../src/inbox/filter.ts";
import { headedOnce, listView } from "../../src/inbox/list.ts";
import { pauseText, resumeCommand } from "../../src/inbox/pause-text.ts";
import { pausesView } from "../../src/inbox/pauses.ts";
import { maskedJson, maskedListedJson, shownJson } from "../../src/inbox/row-json.ts";
import { showView } from "../../src/inbox/show.ts";
import { gaugesView, statsView } from "../../src/inbox/stats.ts";
import { workersView } from "../../src/inbox/workers.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const iccid = "8932042000001234567";

function row(fields: Partial<StoredEvent> = {}): StoredEvent {
  const body = {
    type: "esim.enabled",
    timestamp: "2026-11-20T10:00:00Z",
    data: { esimReference: "730155", iccid },
  };
  return {
    source: "default",
    id: "evt_1",
    state: "dead",
    type: "esim.enabled",
    lane: null,
    receivedAt: new Date("2026-11-20T10:00:00Z"),
    attempts: 8,
    tries: 8,
    dueAt: null,
    leasedUntil: null,
    keptUntil: null,
    error: `no SIM ${iccid}`,
    stack: null,
    conflicts: 0,
    body: Buffer.from(JSON.stringify(body)),
    replay: null,
    subject: null,
    key: null,
    trace: null,
    heldBy: null,
    takenAt: null,
    settledAt: null,
    erasedAt: null,
    history: [],
    ...fields,
  };
}

describe("statsView", () => {
  it("has a row per type, the most frequent first, and what an operator should look at", () => {
    const stats = {
      states: { ready: 1200, leased: 1, done: 30, unhandled: 3, dead: 2 },
      types: [
        { state: "dead", type: null, count: 2 },
        { state: "done", type: "esim.faulted", count: 30 },
        { state: "leased", type: "esim.enabled", count: 1 },
        { state: "ready", type: "esim.enabled", count: 1200 },
        { state: "unhandled", type: "esim.new", count: 3 },
      ],
      oldestReadyMs: 7_500_000,
      conflicts: 1,
      lastReceivedAt: new Date("2026-11-20T11:59:00Z"),
    } as const;
    expect(statsView(stats)).toEqual([
      "TYPE          READY  LEASED  DONE  UNHANDLED  DEAD",
      "esim.enabled  1,200       1     ·          ·     ·",
      "esim.faulted      ·       ·    30          ·     ·",
      "esim.new          ·       ·     ·          3     ·",
      "(invalid)         ·       ·     ·          ·     2",
      "all           1,200       1    30          3     2",
      "",
      "The oldest due event has waited 2h 05m.",
      "The last delivery was received at 2026-11-20 11:59:00Z.",
      "3 events have no handler. Once there is one: esim-webhooks inbox retry --status unhandled",
      "2 events are dead: esim-webhooks inbox errors",
      "1 delivery had the id of a stored event, but another body",
    ]);
  });

  it("says that the inbox is empty", () => {
    const states = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
    expect(statsView({ states, types: [], oldestReadyMs: null, conflicts: 0, lastReceivedAt: null })).toEqual(
      ["The inbox is empty."],
    );
  });
});

describe("gaugesView", () => {
  const counts = { ready: 1001, waiting: 2, blocked: 12, paused: 0, leased: 1, unhandled: 3, dead: 10_001 };

  it("has a column per gauge, with what is more than was counted, and what an operator should look at", () => {
    const gauges = {
      counts,
      capped: ["ready", "dead"],
      blockedBy: { failing: 10, paused: 2, dead: 0 },
      oldestReadyMs: 7_500_000,
      lastReceivedAt: new Date("2026-11-20T11:59:00Z"),
    } as const;
    expect(gaugesView(gauges)).toEqual([
      "          READY  WAITING  BLOCKED  PAUSED  LEASED  UNHANDLED              DEAD",
      "more than 1,000        2       12       ·       1          3  more than 10,000",
      "",
      "The oldest due event has waited 2h 05m.",
      "The last delivery was received at 2026-11-20 11:59:00Z.",
      "2 events wait for another attempt: esim-webhooks inbox errors",
      "12 events wait for others of their lanes: 10 behind a failing one, 2 behind a paused one",
      "3 events have no handler. Once there is one: esim-webhooks inbox retry --status unhandled",
      "more than 10,000 events are dead: esim-webhooks inbox errors",
    ]);
  });
});

describe("a pause", () => {
  const since = new Date("2026-11-20T11:30:00Z");
  const until = new Date("2026-11-20T13:30:00Z");
  const one: Pause = { type: "esim.faulted", since, until, by: "ops@web-1", reason: "CRM is down" };
  const all: Pause = { type: null, since, until: null, by: null, reason: "maintenance\u001b[2J" };

  it("is a sentence: what, since when, until when, by whom and why", () => {
    expect([one, all].map((pause) => pauseText(pause, now))).toEqual([
      "esim.faulted since 2026-11-20 11:30:00Z (30m ago), until 2026-11-20 13:30:00Z (in 1h 30m), by ops@web-1: CRM is down",
      "all types since 2026-11-20 11:30:00Z (30m ago), until it is resumed: maintenance\ufffd[2J",
    ]);
  });

  it("has a command that ends it", () => {
    expect(resumeCommand([one])).toBe("esim-webhooks inbox resume --types esim.faulted");
    expect(resumeCommand([one, all], { dataDir: "my data" })).toBe(
      "esim-webhooks inbox resume --data-dir 'my data'",
    );
  });

  it("is a row of a table", () => {
    expect(pausesView([one, all], now)).toEqual([
      "PAUSED        SINCE    UNTIL                            BY         REASON",
      "esim.faulted  30m ago  2026-11-20 13:30:00Z, in 1h 30m  ops@web-1  CRM is down",
      "all types     30m ago  resumed                          –          maintenance\ufffd[2J",
    ]);
  });
});

describe("eraseView", () => {
  it("says what was erased, in which states, and what was not reached", () => {
    const events = { ready: 1, leased: 0, done: 12_000, unhandled: 0, dead: 0 };
    expect(eraseView({ events, notReached: ["Backups."] })).toEqual([
      "Erased: the personal data of 12,001 events (1 ready, 12,000 done).",
      "Not reached. Personal data of this eSIM may also be here:",
      "  Backups.",
    ]);
  });
});

describe("a search through pages that find nothing", () => {
  it("continues to the end, and notes how far it has come, once a second at most", async () => {
    const searchedTo = new Date("2026-11-20T10:00:00Z");
    const page = (n: number): InboxPage => {
      const isLast = n === 4;
      const rows = n === 3 ? [row()] : [];
      return { rows, nextCursor: isLast ? null : String(n), searchedTo: isLast ? null : searchedTo };
    };
    let asked = 0;
    const pages = listPages({ list: async () => page(asked++) }, {}, 50);
    const notes: string[] = [];
    const output = { note: (line: string) => notes.push(line) } as never;
    const note = searchProgress(searchNote(output, {}));
    const found: number[] = [];
    for await (const each of pages) {
      note(each);
      found.push(each.rows.length);
    }
    expect(found).toEqual([0, 0, 0, 1, 0]);
    expect(notes).toEqual(["Searched back to 2026-11-20 10:00:00Z …"]);
  });
});

describe("listView", () => {
  it("has one line per event, with personal data in errors masked", () => {
    expect(listView([row()], { now, reveal: false, heldBack: new Map() })).toEqual([
      "ID     TYPE          STATE  RECEIVED  TRIES  ERROR",
      "evt_1  esim.enabled  dead     2h ago      8  no SIM •••",
    ]);
  });

  it("marks the rows that are paused or blocked", () => {
    const rows = [row({ state: "ready" }), row({ state: "ready" }), row({ state: "ready" })];
    const marks = ["paused", "blocked"] as const;
    const heldBack = new Map(marks.map((mark, index) => [rows[index] as InboxRow, mark] as const));
    const lines = listView(rows, { now, reveal: false, heldBack });
    expect(lines.slice(1).map((line) => line.split(/ +/)[2])).toEqual(["paused", "blocked", "ready"]);
  });

  it("has its heading once above several tables, and again where the columns change", () => {
    const withHeading = headedOnce();
    expect(withHeading(["ID  STATE", "a  dead"])).toEqual(["ID  STATE", "a  dead"]);
    expect(withHeading(["ID     STATE", "abc  dead"])).toEqual(["abc  dead"]);
    expect(withHeading(["SOURCE  ID  STATE", "b  a  dead"])).toHaveLength(2);
  });

  it("shows personal data in errors with --reveal", () => {
    expect(listView([row()], { now, reveal: true, heldBack: new Map() })[1]).toContain(`no SIM ${iccid}`);
  });

  it("keeps ids whole at 80 columns, gives errors a line of their own, and has a column of sources when there are several", () => {
    const id = `msg_${"0".repeat(36)}`;
    const error = "Error: the shop did not answer in time";
    const type = "esim.lifecycle.suspended";
    const lines = listView([row(), row({ id, error, type })], {
      now,
      reveal: false,
      heldBack: new Map(),
      width: 80,
    });
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.slice(3)).toEqual([
      expect.stringMatching(`^${id} {2}esim\\.lifec\\S*… {2}dead`),
      `  ${error}`,
    ]);
    const [head] = listView([row(), row({ id, source: "backup" })], {
      now,
      reveal: false,
      heldBack: new Map(),
      width: 80,
    });
    expect(head).toMatch(/^SOURCE /);
  });

  it("says of an event without a type that it is invalid, and of an id without an event that it was handled inline", () => {
    const lines = listView([row({ type: null })], { now, reveal: false, heldBack: new Map() });
    expect(lines[1]).toContain("  (invalid) ");
    const inline = row({ type: null, receivedAt: null, state: "done", error: null });
    const shown = showView({ ...inline, body: null }, { now, reveal: false });
    expect(shown).toContain("type    unknown: it was handled inline, and only its id is kept");
  });

  it("prints no control characters of an id or an error", () => {
    const lines = listView([row({ id: "\u001b[2J", error: "\u001b]0;title\u0007" })], {
      now,
      reveal: true,
      heldBack: new Map(),
    });
    expect(lines.join("")).not.toMatch(/\p{Cc}/u);
  });
});

describe("rowsOf", () => {
  it("reads a bounded number of pages of ready events, although none of them has an event that matches", async () => {
    let pages = 0;
    const inbox = {
      list: async ({ state }: InboxFilter = {}) => {
        if (state === "ready") pages += 1;
        return { rows: [], nextCursor: state === "ready" ? "next" : null, searchedTo: null };
      },
    };
    for await (const rows of rowsOf(inbox, { error: "no SIM" }, () => {})) expect(rows).toEqual([]);
    expect(pages).toBe(20);
  });
});

describe("errorsView", () => {
  it("shows when the oldest and the newest of a group were received, and its types, the most frequent first", async () => {
    const received = ["2026-11-20T10:00:00Z", "2026-11-18T10:00:00Z", "2026-11-19T10:00:00Z"];
    const rows = received.map((time, n) =>
      row({ id: `evt_${n}`, receivedAt: new Date(time), type: n === 0 ? null : "esim.faulted" }),
    );
    const pages = async function* () {
      yield* [rows.slice(0, 2), rows.slice(2)];
    };
    const groups = await groupByError(pages());
    expect(errorsView(groups, { now, width: 70 })).toEqual([
      "EVENTS  STATE  OLDEST  NEWEST  EXAMPLE  TYPES",
      "     3  dead   2d ago  2h ago  evt_0    esim.faulted, (invalid)",
      "  no SIM #",
    ]);
  });
});

describe("workersView", () => {
  it("has a row per worker, with a dash for what its engine does not know", () => {
    const startedAt = new Date(now - 7_200_000);
    const worker = {
      host: "web-1",
      pid: 7,
      version: "0.1.0",
      startedAt,
      concurrency: 20,
      seenAt: new Date(now),
    };
    const workers = [
      { ...worker, id: "web-1:7:9f3c01", running: 3, lastTakeAt: new Date(now - 2000) },
      { ...worker, id: "web-1:7:12", running: null, lastTakeAt: null },
    ];
    expect(workersView(workers, now)).toEqual([
      "WORKER          VERSION  STARTED  RUNNING  LAST TAKE",
      "web-1:7:9f3c01  0.1.0    2h ago   3 of 20  2s ago",
      "web-1:7:12      0.1.0    2h ago   – of 20  –",
    ]);
  });
});

describe("showView", () => {
  it("shows everything that is known, and the body with its personal data masked", () => {
    expect(showView(row({ lane: "730155", conflicts: 1 }), { now, reveal: false })).toEqual([
      "id         evt_1",
      "source     default",
      "type       esim.enabled",
      "state      dead",
      "lane       730155",
      "received   2026-11-20 10:00:00Z  2h ago",
      "tries      8",
      "error      no SIM •••",
      "conflicts  1 delivery with this id had another body",
      "",
      "body, 122 bytes",
      "{",
      '  "type": "esim.enabled",',
      '  "timestamp": "2026-11-20T10:00:00Z",',
      '  "data": {',
      '    "esimReference": "730155",',
      '    "iccid": "•••"',
      "  }",
      "}",
    ]);
  });

  it("shows when an event was taken and settled, which key verified it, its failed attempts, and what operators did", () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 11, minute));
    const operators = { durationMs: null, error: null, worker: null };
    const history = [
      {
        endedAt: at(1),
        reason: "timed_out",
        durationMs: 5000,
        error: `late ${iccid}`,
        worker: "web-1:7:9f3c",
        by: null,
        attempts: null,
      },
      { ...operators, endedAt: at(2), reason: "lease_ended", by: null, attempts: null },
      { ...operators, endedAt: at(3), reason: "retried", by: "ada", attempts: 3 },
      { ...operators, endedAt: at(4), reason: "given_up", by: null, attempts: 1, error: "eSIM is gone" },
    ] as const;
    const shown = row({ key: "key:1a2b3c4d", takenAt: at(0), settledAt: at(3), history });
    expect(showView(shown, { now, reveal: false })).toEqual(
      expect.arrayContaining([
        "verified  with key:1a2b3c4d",
        "taken     2026-11-20 11:00:00Z  1h ago",
        "settled   2026-11-20 11:03:00Z  57m ago",
        "history",
        "2026-11-20 11:01:00Z  59m ago  timed out  after 5s  in web-1:7:9f3c",
        "  late •••",
        "2026-11-20 11:02:00Z  58m ago  lease ended",
        "2026-11-20 11:03:00Z  57m ago  retried by ada, 3 attempts before",
        "2026-11-20 11:04:00Z  56m ago  given up, 1 attempt before",
        "  eSIM is gone",
      ]),
    );
    expect(maskedJson(shown)["history"]).toEqual([{ ...history[0], error: "late •••" }, ...history.slice(1)]);
  });

  it("shows the beginning of a long reason, error, type or reference, and all of them on request", () => {
    const dates = "2026-11-20 ".repeat(90_000);
    const data = { reason: dates, esimReference: dates };
    const long = row({ type: dates, error: dates, lane: dates, body: Buffer.from(JSON.stringify({ data })) });
    const shown = (reveal: boolean) => [
      showView(long, { now, reveal }).join("\n"),
      listView([long], { now, reveal, heldBack: new Map() }).join("\n"),
      JSON.stringify({ ...(reveal ? shownJson : maskedJson)(long), type: null }),
    ];
    for (const text of shown(false)) {
      expect(text).toContain("2026-11-20 2026-11-20 ");
      expect(text).toContain("… (986,000 more characters)");
      expect(text.length).toBeLessThan(30_000);
    }
    for (const text of shown(true)) expect(text).toContain(dates.trimEnd());
  });

  it("shows a lane that is a reference of the event, and masks the numbers of any other", () => {
    const body = Buffer.from('{"data":{"esimReference":"730155284096617302"}}');
    const lane = (name: string) => showView(row({ body, lane: name }), { now, reveal: false })[4];
    expect(lane("730155284096617302")).toBe("lane      730155284096617302");
    expect(lane(iccid)).toBe("lane      •••");
  });

  it("shows what the dump of an import says about the delivery", () => {
    const replay = {
      run: "3f2a",
      rebuilt: true,
      delivery: { status: "exhausted", attemptNumber: 10, deliveredAt: null },
    };
    expect(showView(row({ replay }), { now, reveal: false })).toEqual(
      expect.arrayContaining([
        "replayed         by import 3f2a",
        "  body           rebuilt from the dump's JSON, so not signed",
        "  status         exhausted",
        "  attemptNumber  10",
        "  deliveredAt    none",
      ]),
    );
  });

  it("shows the stack of the last error below the facts, masked", () => {
    const stack = `at order (file:///app/orders.ts:12:5)\nat ${iccid}`;
    const shown = showView(row({ stack }), { now, reveal: false });
    expect(shown.slice(shown.indexOf("stack") - 1).slice(0, 5)).toEqual([
      "",
      "stack",
      "at order (file:///app/orders.ts:12:5)",
      "at •••",
      "",
    ]);
    expect(maskedJson(row({ stack }))["stack"]).toBe("at order (file:///app/orders.ts:12:5)\nat •••");
    expect(shownJson(row({ stack }))["stack"]).toBe(stack);
  });

  it("says why a done event has no body", () => {
    const done = row({ state: "done", error: null, body: null, keptUntil: new Date("2026-12-20T10:00:00Z") });
    const lines = showView(done, { now, reveal: false });
    expect(lines).toContain("kept until  2026-12-20 10:00:00Z  in 29d");
    expect(lines.at(-1)).toBe("The body was deleted when the event was done.");
  });

  it("says that an event was erased, and that a body was removed when its time had ended", () => {
    const erasedAt = new Date("2026-11-20T11:00:00Z");
    const erased = showView(row({ state: "done", error: "erased", body: null, erasedAt }), {
      now,
      reveal: false,
    });
    expect(erased).toContain("erased    on 2026-11-20 11:00:00Z: its personal data is gone");
    expect(erased.at(-1)).toBe("The body was erased.");
    expect(showView(row({ body: null }), { now, reveal: false }).at(-1)).toBe(
      "The body was removed when its time had ended (bodyRetentionMs), so the event cannot be retried.",
    );
    expect(maskedJson(row({ erasedAt }))["erasedAt"]).toBe(erasedAt);
  });

  it("shows why an event waits", () => {
    expect(showView(row({ state: "ready" }), { now, reveal: false, waits: "It is paused." })).toContain(
      "waits     It is paused.",
    );
  });

  it("shows a body that is not JSON only with --reveal", () => {
    const broken = row({ type: null, body: Buffer.from(`{"iccid": "${iccid}"`) });
    expect(showView(broken, { now, reveal: false }).at(-1)).toBe("The body is not JSON: --reveal shows it.");
    expect(showView(broken, { now, reveal: true }).at(-1)).toBe(`{"iccid": "${iccid}"`);
  });

  it("shows bytes that are not text as base64", () => {
    const broken = row({ body: Buffer.from([0xff, 0x00]) });
    expect(showView(broken, { now, reveal: true }).at(-1)).toBe("/wA=");
  });

  it("does not round numbers in a revealed body", () => {
    const body = Buffer.from('{"esimReference":730155284096617302}');
    expect(showView(row({ body }), { now, reveal: true })).toContain('  "esimReference": 730155284096617302');
  });

  it("survives a body that is nested 200,000 levels deep", () => {
    const body = Buffer.from("[".repeat(200_000) + "]".repeat(200_000));
    expect(showView(row({ body }), { now, reveal: false }).at(-1)).toMatch(/not JSON: --reveal shows it/);
  });
});

describe("an event as JSON", () => {
  it("lists everything but the body, and masks the lane, which may be personal data", () => {
    expect(maskedListedJson(row({ lane: iccid }))).toEqual({
      source: "default",
      id: "evt_1",
      state: "dead",
      type: "esim.enabled",
      lane: "•••",
      receivedAt: new Date("2026-11-20T10:00:00Z"),
      attempts: 8,
      dueAt: null,
      leasedUntil: null,
      keptUntil: null,
      error: "no SIM •••",
      conflicts: 0,
    });
  });

  it("shows the body masked, and with --reveal also the signed text", () => {
    expect(JSON.stringify(maskedJson(row()))).not.toContain(iccid);
    expect(shownJson(row())["bodyText"]).toBe(row().body?.toString());
  });
});
