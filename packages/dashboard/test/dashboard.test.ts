import { readFileSync } from "node:fs";
import type { InboxAdmin, InboxEntry, InboxRow, Logger } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { type DashboardOptions, inboxDashboard } from "@esim-webhooks/dashboard";
import { servicePlanOf } from "@esim-webhooks/endpoint";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { dashboardSuite } from "./dashboard-suite.ts";
import { base, callsOf, codeOf, pageHeaders, request } from "./page-call.ts";

expectWarnings("event_dead");

dashboardSuite("memoryInbox", async () => memoryInbox({ lane: ({ data }) => data.esimReference }));

interface Line {
  readonly [field: string]: unknown;
}

function logTo(lines: Line[]): Logger {
  const note = (fields: Line, message: string) => void lines.push({ ...fields, message });
  return loggerTo(note);
}

const operator: DashboardOptions["authorize"] = () => ({ role: "operator", name: "otto" });

const dashboard = inboxDashboard(memoryInbox(), { authorize: operator });
const script = new URL("../assets/dashboard.js", import.meta.url);

function newEntry(id: string, receivedAt = new Date()): InboxEntry {
  const type = "esim.faulted";
  const event = { id, type, timestamp: receivedAt.toISOString(), data: {} };
  const body = Buffer.from(JSON.stringify(event));
  return { source: "default", id, type, event, body, receivedAt, key: "key:1a2b3c4d" };
}

/** Stores events of yesterday that are dead. */
async function putDead(inbox: ReturnType<typeof memoryInbox>, ids: readonly string[]): Promise<void> {
  const at = Date.now() - 86_400_000;
  await inbox.put(ids.map((id, number) => newEntry(id, new Date(at + number * 1000))));
  const taken = await inbox.take({ limit: ids.length, leaseMs: 60_000 });
  const settled = taken.map(({ source, id, token }) => ({
    source,
    id,
    token,
    state: "dead" as const,
    error: "no",
  }));
  await inbox.settle(settled);
}

const get = (path: string, method = "GET") => dashboard(new Request(new URL(path, base), { method }));

async function codeOfAnswer(answer: Promise<Response>): Promise<[number, string]> {
  const response = await answer;
  const { code } = (await response.json()) as { readonly code: string };
  return [response.status, code];
}

it("says by the inbox's own clock whether an event is due, where that is apart from this machine's", async () => {
  const clock = { now: () => Date.now() + 10_000 };
  const inbox = memoryInbox({ lane: () => "one", clock });
  onTestFinished(() => inbox.close());
  await inbox.put([newEntry("msg_1", new Date(1)), newEntry("msg_2", new Date(2))]);
  const viewer = callsOf(inboxDashboard(inbox, { authorize: operator }));
  const { rows } = await viewer("list", { filter: { state: "ready" } });
  expect(rows.map(({ heldBack }) => heldBack)).toEqual(["blocked", null]);
  const { waits } = await viewer("event", { source: "default", id: "msg_2" });
  expect(waits).toMatch(/^Its lane is held by the event msg_1/);
});

describe("the paths of the dashboard", () => {
  it("are the page, its files and its calls, at any depth", async () => {
    for (const path of ["/", "/a/", "/a/b/"]) {
      const page = await get(path);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(await page.text()).toContain('src="assets/dashboard.js"');
      const session = request("session");
      const call = new Request(new URL(`${path}api/session`, base), session);
      expect((await dashboard(call)).status).toBe(200);
    }
  });

  it("redirect what has no slash at its end relatively, so that a proxy may change what is before it", async () => {
    const response = await get("/ops/webhooks-inbox?a=1");
    expect([response.status, response.headers.get("location")]).toEqual([307, "./webhooks-inbox/"]);
  });

  it("may be below a folder named api", async () => {
    const response = await get("/api/inbox");
    expect([response.status, response.headers.get("location")]).toEqual([307, "./inbox/"]);
    expect((await get("/api/inbox/")).status).toBe(200);
  });

  it("never redirect to another host", async () => {
    for (const path of ["//evil.example", "/ops//evil.example", "/%2F%2Fevil.example", "/\\\\evil.example"]) {
      const location = (await dashboard(new Request(`http://ops.example${path}`))).headers.get("location");
      expect(new URL(location ?? "", "http://ops.example/ops").host).toBe("ops.example");
    }
  });

  it("give the files of the page uncompressed in a Response, for any Accept-Encoding of the browser", async () => {
    const accepting = { headers: { "accept-encoding": "gzip, br" } };
    const file = await dashboard(new Request(new URL("assets/dashboard.js", base), accepting));
    expect(file.headers.get("content-encoding")).toBeNull();
    expect((await file.text()) === readFileSync(script, "utf8")).toBe(true);
  });

  it("have no other files, and answer other methods 405", async () => {
    for (const path of ["assets/package.json", "assets/..%2Fpackage.json", "assets/constructor"])
      expect((await get(path)).status, path).toBe(404);
    for (const [path, method, allow] of [
      ["", "POST", "GET, HEAD"],
      ["", "DELETE", "GET, HEAD"],
      ["api/session", "GET", "POST"],
      ["api/erase", "PUT", "POST"],
    ] as const) {
      const response = await get(path, method);
      expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
    }
  });

  it("answer a call that does not exist 404", async () => {
    for (const name of ["nothing", "constructor", "__proto__"])
      expect(await codeOfAnswer(dashboard(request(name)))).toEqual([404, "unknown_call"]);
  });

  it("all have headers that keep other pages and caches out", async () => {
    const answers = [get(""), get("x"), get("assets/none"), get("", "POST"), dashboard(request("session"))];
    for (const response of await Promise.all(answers)) {
      const policy = response.headers.get("content-security-policy");
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
      ])
        expect(policy).toContain(part);
      expect(policy).not.toMatch(/unsafe|http|\*/);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    }
  });

  it("serve a page without a script or a style of its own", async () => {
    const page = await (await get("")).text();
    expect(page).not.toMatch(/<style|style=|\son\w+=|javascript:|<script(?! type="module" src="assets)/);
    expect(page).not.toMatch(/(?:src|href)="(?:\/|http)/);
  });
});

describe("authorize", () => {
  const all = () => [
    new Request(base),
    new Request(new URL("x", base)),
    new Request(new URL("assets/dashboard.js", base)),
    new Request(new URL("api/session", base), { method: "DELETE" }),
    request("session"),
    request("erase", { subject: "1" }),
    request("nothing", "no JSON", { "content-type": "text/plain" }),
  ];

  it("answers everything 404 for whom it does not know, and reads nothing", async () => {
    const inbox = memoryInbox();
    await inbox.close();
    const closed = inboxDashboard(inbox, { authorize: async () => null });
    for (const each of all()) {
      const response = await closed(each);
      expect([response.status, await response.text()]).toEqual([404, "Not Found"]);
    }
  });

  it("answers everything 500 without a detail if it throws, or forgets to answer, and logs it", async () => {
    for (const authorize of [
      () => {
        throw new Error("the session store is down");
      },
      () => undefined as never,
      () => ({ role: "admin", name: "otto" }) as never,
      () => ({ role: "operator", name: "" }) as never,
    ]) {
      const lines: Line[] = [];
      const failing = inboxDashboard(memoryInbox(), { authorize, logger: logTo(lines) });
      for (const each of all()) {
        const response = await failing(each);
        expect([response.status, await response.text()]).toEqual([500, "Internal Server Error"]);
      }
      expect(lines.map(({ code }) => code)).toEqual(all().map(() => "authorize_failed"));
    }
  });

  it("gets the request, with its headers", async () => {
    const seen: (string | null)[] = [];
    const own = inboxDashboard(memoryInbox(), {
      authorize({ headers, url }) {
        seen.push(headers.get("cookie"), new URL(url).pathname);
        return { role: "viewer", name: "vera" };
      },
    });
    await own(request("session", {}, { cookie: "session=1" }));
    expect(seen).toEqual(["session=1", "/webhooks-inbox/api/session"]);
  });

  it("is required, and so is an inbox with the role of operators", () => {
    const codeOfThrown = (make: () => unknown) => {
      try {
        make();
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
      return "none";
    };
    expect(codeOfThrown(() => inboxDashboard(memoryInbox(), {} as never))).toBe("invalid_option");
    expect(codeOfThrown(() => inboxDashboard(memoryInbox(), undefined as never))).toBe("invalid_option");
    const writer = { capabilities: { roles: ["writer"] } } as unknown as InboxAdmin;
    expect(codeOfThrown(() => inboxDashboard(writer, { authorize: operator }))).toBe("invalid_option");
    for (const color of ["red", "url(//evil.example)", "#12345"])
      expect(codeOfThrown(() => inboxDashboard(memoryInbox(), { authorize: operator, color }))).toBe(
        "invalid_option",
      );
  });
});

describe("a call", () => {
  it.each([
    ["of another site", { "sec-fetch-site": "cross-site" }],
    ["of another site of the same domain", { "sec-fetch-site": "same-site" }],
    ["that a link or a form begins", { "sec-fetch-site": "none" }],
    ["without the header", { "x-esim-webhooks-dashboard": "" }],
    ["of a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["as text, which needs no preflight", { "content-type": "text/plain" }],
    ["with a content type that only begins as JSON", { "content-type": "application/json-seq" }],
    [
      "of another origin, of a browser that does not say what site it is",
      { "sec-fetch-site": "", origin: "http://evil.example" },
    ],
    ["of an origin that is hidden", { "sec-fetch-site": "", origin: "null" }],
  ])("%s is refused, and does nothing", async (_, headers) => {
    const lines: Line[] = [];
    const own = inboxDashboard(memoryInbox(), { authorize: operator, logger: logTo(lines) });
    const given = Object.entries({ ...pageHeaders, ...headers }).filter(([, value]) => value !== "");
    const forged = new Request(new URL("api/erase", base), {
      method: "POST",
      headers: given,
      body: JSON.stringify({ subject: "730155284096617302" }),
    });
    expect(await codeOfAnswer(own(forged))).toEqual([403, "not_from_the_page"]);
    expect(lines).toEqual([
      {
        code: "not_from_the_page",
        call: "erase",
        by: "otto",
        message: "The dashboard has refused a call.",
      },
    ]);
  });

  it("of the page's own origin is taken from a browser that does not say what site it is", async () => {
    const { "sec-fetch-site": _, ...headers } = pageHeaders;
    const own = (more: Record<string, string>) =>
      dashboard(
        new Request(new URL("api/session", base), {
          method: "POST",
          headers: { ...headers, ...more },
          body: "{}",
        }),
      );
    expect((await own({ origin: "http://ops.example" })).status).toBe(200);
    expect((await own({})).status).toBe(200); // no browser
  });

  it("is taken from a proxy that changes the host, since the browser says that it is of the same origin", async () => {
    expect((await dashboard(request("session", {}, { origin: "https://public.example" }))).status).toBe(200);
  });

  it("of more than 64 kB is refused", async () => {
    const filter = { subject: "1".repeat(64_000) };
    expect(await codeOfAnswer(dashboard(request("count", { filter })))).toEqual([413, "body_too_large"]);
  });

  it.each([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["null", "null"],
    ["a field that it does not have", '{"filter":{"states":["dead"]}}'],
    ["a state that there is not", '{"filter":{"state":"failed"}}'],
    ["a time without an offset", '{"filter":{"since":"2026-11-20T10:00:00"}}'],
    ["a number in place of a text", '{"filter":{"subject":1}}'],
    ["an empty list of types", '{"filter":{"types":[]}}'],
    ["no filter", "{}"],
  ])("with %s is refused with a code, and both halves of a message", async (_, body) => {
    const response = await dashboard(request("count", body));
    const { code, message } = (await response.json()) as Record<string, string>;
    expect([response.status, code]).toEqual([400, "invalid_call"]);
    expect(message).toMatch(/\. .*\.$/);
  });

  it("with a cursor that no list has returned is refused", async () => {
    const call = callsOf(dashboard);
    expect(await codeOf(call("list", { filter: {}, cursor: "none" }))).toBe("invalid_call");
  });

  it("is answered 503 while the inbox does not answer, and the page still opens", async () => {
    const lines: Line[] = [];
    const inbox = memoryInbox();
    const own = inboxDashboard(inbox, { authorize: operator, logger: logTo(lines) });
    await inbox.close();
    expect((await own(new Request(base))).status).toBe(200);
    expect((await own(request("session"))).status).toBe(200);
    for (const [name, input] of [
      ["gauges", {}],
      ["now", {}],
      ["progress", { source: "default", ids: ["1"] }],
      ["list", { filter: {} }],
      ["count", { filter: {} }],
      ["event", { source: "default", id: "1" }],
      ["types", {}],
      ["typeCounts", { state: "dead" }],
      ["runs", {}],
      ["reveal", { source: "default", id: "1" }],
      ["retry", { filter: {}, most: 1 }],
      ["discard", { filter: {}, most: 1 }],
      ["pause", { type: null, reason: "no CRM" }],
      ["resume", { type: null }],
      ["erase", { subject: "1" }],
    ] as const)
      expect(await codeOfAnswer(own(request(name, input))), name).toEqual([503, "inbox_unavailable"]);
    expect(lines.filter(({ code }) => code === "inbox_unavailable")).toHaveLength(15);
  });

  it("that fails for another reason is answered 500 without a detail, which is in the log", async () => {
    const lines: Line[] = [];
    const inbox = { ...memoryInbox(), runs: () => Promise.reject(new Error("secret 8932042000010012344")) };
    const own = inboxDashboard(inbox, { authorize: operator, logger: logTo(lines) });
    const response = await own(request("runs"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(lines).toMatchObject([{ code: "internal_error", call: "runs" }]);
  });

  it("that changes many events says how many it has changed when the inbox fails in between", async () => {
    const lines: Line[] = [];
    const inbox = memoryInbox();
    const dead = Array.from({ length: 500 }, (_, n) => ({ source: "default", id: `msg_${n}`, error: "no" }));
    let pages = 0;
    let calls = 0;
    const failing = {
      ...inbox,
      list: async () => {
        pages += 1;
        const rows = dead.map((row) => ({ ...row, id: `${row.id}_${pages}` })) as unknown as InboxRow[];
        return { rows, nextCursor: `${pages}`, searchedTo: null };
      },
      redrive: async (_: unknown, limit = 0) => {
        calls += 1;
        if (calls > 2) await inbox.close().then(() => inbox.gauges());
        return limit;
      },
    };
    const own = inboxDashboard(failing, { authorize: operator, logger: logTo(lines) });
    const response = await own(request("retry", { filter: {}, most: 5000 }));
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      code: "inbox_unavailable",
      message:
        "The inbox stopped answering after 1000 of 5000 events. Check its database, and do it again: it continues with the rest.",
    });
    expect(lines).toContainEqual(
      expect.objectContaining({ code: "dashboard_retry", events: 1000, most: 5000 }),
    );
  });

  it("of a retry that another operator has partly made watches no event that is still dead", async () => {
    const inbox = memoryInbox();
    await putDead(inbox, ["msg_1", "msg_2", "msg_3"]);
    const partly = {
      ...inbox,
      redrive: ({ ids = [] }: { readonly ids?: readonly string[] } = {}) =>
        inbox.redrive({ ids: ids.filter((id) => id !== "msg_2") }),
    };
    const own = callsOf(inboxDashboard(partly, { authorize: operator }));
    const { done, events } = await own("retry", { filter: {}, most: 3 });
    expect([done, events]).toEqual([2, [{ source: "default", ids: ["msg_3", "msg_1"] }]]);
    const [retried = { source: "", ids: [] }] = events;
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    expect(await own("progress", retried)).toContain("leased");
    const { source = "", id = "", token = "" } = taken ?? {};
    await inbox.settle([{ source, id, token, state: "retry", afterMs: 60_000, error: "no" }]);
    expect((await own("progress", retried)).toSorted()).toEqual(["failed", "ready"]);
  });

  it("that counts by type has a thousand events a page, and the next pages the others", async () => {
    const inbox = memoryInbox();
    await inbox.put(Array.from({ length: 1500 }, (_, number) => newEntry(`msg_${number}`)));
    const own = callsOf(inboxDashboard(inbox, { authorize: operator }));
    const first = await own("typeCounts", { state: "ready" });
    expect(first.counts).toMatchObject([{ type: "esim.faulted", count: 1000 }]);
    const second = await own("typeCounts", { state: "ready", cursor: first.nextCursor ?? "" });
    expect(second).toMatchObject({ counts: [{ type: "esim.faulted", count: 500 }], nextCursor: null });
  });

  it("logs no eSIM and no error text of a filter", async () => {
    const lines: Line[] = [];
    const own = callsOf(inboxDashboard(memoryInbox(), { authorize: operator, logger: logTo(lines) }));
    const filter = { subject: "730155284096617302", error: "no SIM 8932042000010012344" };
    await own("retry", { filter, most: 1 });
    await own("discard", { filter, most: 1 });
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toMatch(/730155284096617302|8932042000010012344/);
  });
});

describe("the endpoints", () => {
  const endpoint = {
    webhookEndpointReference: "WHE1",
    url: "https://user:password@hooks.example/webhooks?token=secret",
    active: true,
    eventTypes: ["esim.faulted", "esim.enabled"],
  };
  const delivery = {
    eventId: "msg_1",
    eventType: "esim.faulted",
    status: "delivered",
    attemptNumber: 1,
    httpStatus: 202,
    nextRetryAt: null,
    sentAt: "2026-11-20T10:00:00Z",
    payload: { iccid: "8932042000010012344" },
  };
  async function* of<Item>(...items: Item[]) {
    yield* items;
  }

  it("are compared with the handlers, and show their last deliveries without payloads and secrets", async () => {
    const client = {
      webhooks: { list: () => of(endpoint), deliveries: () => of(...Array(30).fill(delivery)) },
    };
    const handlers = { "esim.faulted": () => {}, "esim.lifecycle.*": () => {} };
    const own = callsOf(inboxDashboard(memoryInbox(), { authorize: operator, client, handlers }));
    const { endpoints } = await own("endpoints", {});
    expect(endpoints).toHaveLength(1);
    const [view] = endpoints;
    expect(view).toMatchObject({
      reference: "WHE1",
      url: "https://hooks.example/webhooks",
      isActive: true,
      unhandled: ["esim.enabled"],
      notSubscribed: ["esim.lifecycle.suspended", "esim.lifecycle.activated", "esim.lifecycle.terminated"],
    });
    expect(view?.deliveries).toHaveLength(20);
    expect(JSON.stringify(view)).not.toMatch(/8932042000010012344|secret|password/);
  });

  it("are not compared without handlers, and none are shown without a client", async () => {
    const client = { webhooks: { list: () => of(endpoint), deliveries: () => of<typeof delivery>() } };
    const own = callsOf(inboxDashboard(memoryInbox(), { authorize: operator, client }));
    expect((await own("session", {})).hasEndpoints).toBe(true);
    expect((await own("endpoints", {})).endpoints).toMatchObject([{ unhandled: null, notSubscribed: null }]);
    expect((await callsOf(dashboard)("endpoints", {})).endpoints).toEqual([]);
  });

  it("show what was missed, as reconcile decides it, and link each event by its own source", async () => {
    const inbox = memoryInbox();
    const kept = { type: null, event: null, body: Buffer.from("{}"), receivedAt: new Date() };
    await inbox.put([{ ...kept, source: "partner-b", id: "msg_1", key: "key:1a2b3c4d" }]);
    const retryAt = "2026-11-20T11:00:00Z";
    const plans = [
      ["pending", null],
      ["sending", null],
      ["failed", retryAt],
      ["failed", null],
      ["exhausted", null],
      ["delivered", null],
      ["a new status", null],
      [null, null],
    ] as const;
    const deliveries = plans.map(([status, nextRetryAt], number) => ({
      ...delivery,
      eventId: `msg_${status}_${number}`,
      status,
      nextRetryAt,
    }));
    const client = {
      webhooks: {
        list: () => of(endpoint),
        deliveries: () => of({ ...delivery, status: "exhausted" }, ...deliveries),
      },
    };
    const missedOf = async (own: InboxAdmin) => {
      const call = callsOf(inboxDashboard(own, { authorize: operator, client }));
      const [view] = (await call("endpoints", { refresh: true })).endpoints;
      expect(view?.missedCount).toBe(view?.missed.length);
      expect(view).toMatchObject({ compared: 9, deliveries: { length: 9 } });
      expect(view?.deliveries.map(({ event }) => event).slice(0, 2)).toEqual([
        { source: "partner-b", id: "msg_1" },
        null,
      ]);
      return view?.missed.map(({ id }) => id);
    };
    const isMissed = ({ status, nextRetryAt }: (typeof deliveries)[number]) =>
      servicePlanOf({ status: status as "failed", nextRetryAt }) === "missed";
    const wanted = deliveries.filter(isMissed).map(({ eventId }) => eventId);
    expect(wanted).toHaveLength(4);
    expect(await missedOf(inbox)).toEqual(
      deliveries.flatMap((each) => (isMissed(each) || each.status === "delivered" ? each.eventId : [])),
    );
    const forgetful = {
      ...inbox,
      capabilities: { ...inbox.capabilities, filters: ["state", "ids"] as const },
    };
    expect(await missedOf(forgetful)).toEqual(wanted);
  });

  it("show a delivery whose fields the service has not sent", async () => {
    const bare = {
      eventId: null,
      eventType: null,
      status: null,
      attemptNumber: null,
      httpStatus: null,
      nextRetryAt: null,
      sentAt: null,
    };
    const client = { webhooks: { list: () => of(endpoint), deliveries: () => of(bare) } };
    const own = callsOf(inboxDashboard(memoryInbox(), { authorize: operator, client }));
    const [view] = (await own("endpoints", {})).endpoints;
    expect(view).toMatchObject({ compared: 1, missedCount: 0 });
    expect(view?.deliveries).toEqual([
      { id: null, type: null, status: null, attempt: null, httpStatus: null, at: null, event: null },
    ]);
  });

  it("are asked of the partner API once in 30 s, for all who look, and again for a refresh", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    let asked = 0;
    const client = {
      webhooks: {
        list() {
          asked += 1;
          return of(endpoint);
        },
        deliveries: () => of<typeof delivery>(),
      },
    };
    const [first, second] = [1, 2].map(() =>
      callsOf(inboxDashboard(memoryInbox(), { authorize: operator, client })),
    ) as [ReturnType<typeof callsOf>, ReturnType<typeof callsOf>];
    const [{ readAt }] = await Promise.all([first("endpoints", {}), second("endpoints", {})]);
    vi.advanceTimersByTime(29_999);
    expect(await second("endpoints", {})).toMatchObject({ readAt });
    expect(asked).toBe(1);
    await Promise.all([first("endpoints", { refresh: true }), second("endpoints", { refresh: true })]);
    expect(asked).toBe(2);
    vi.advanceTimersByTime(30_000);
    await first("endpoints", {});
    expect(asked).toBe(3);
  });

  it("are refused with a code if the partner API does not answer", async () => {
    const lines: Line[] = [];
    const client = {
      webhooks: {
        list: (): AsyncIterable<typeof endpoint> => {
          throw new Error("401");
        },
        deliveries: () => of<typeof delivery>(),
      },
    };
    const own = inboxDashboard(memoryInbox(), { authorize: operator, client, logger: logTo(lines) });
    expect(await codeOfAnswer(own(request("endpoints")))).toEqual([502, "service_unavailable"]);
    expect(lines).toMatchObject([{ code: "service_unavailable" }]);
    expect(await codeOfAnswer(own(request("endpoints")))).toEqual([502, "service_unavailable"]);
    expect(lines).toHaveLength(2); // a failure is not kept
  });
});
