import { readFileSync } from "node:fs";
import { createServer, request as httpRequest, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../test/listen.ts";
import { pipelined } from "../../../test/pipelined.ts";
import { pageHeaders } from "./page-call.ts";

/** Whom the framework's own request names: undefined without one. */
const seen: unknown[] = [];

function dashboard() {
  return inboxDashboard(memoryInbox(), {
    authorize({ headers }, native) {
      seen.push(native);
      return headers.get("authorization") === "Bearer otto" ? { role: "operator", name: "otto" } : null;
    },
  });
}

async function serve(listener: RequestListener | Server, path: string): Promise<string> {
  const server = await listen(listener, path, async () => {});
  onTestFinished(() => server.close());
  return server.url;
}

/** Where the dashboard is mounted, without a slash at its end. */
const mounts: Readonly<Record<string, () => Promise<string>>> = {
  "Node.js": () => serve(dashboard().node as RequestListener, "/inbox"),
  "Express 5": () => serve(express().use("/ops/inbox", dashboard().node), "/ops/inbox"),
  "Express 5 behind a parser of JSON": () =>
    serve(express().use(express.json()).use("/ops/inbox", dashboard().node), "/ops/inbox"),
  "Express 4": () => serve(express4().use("/ops/inbox", dashboard().node), "/ops/inbox"),
  "Express 4 behind a parser of JSON, in a router": () => {
    const router = express4.Router().use("/inbox", dashboard().node);
    return serve(express4().use(express4.json()).use("/ops", router), "/ops/inbox");
  },
  Fastify: async () => {
    const app = fastify();
    await app.register(dashboard().fastify, { prefix: "/ops/inbox" });
    onTestFinished(() => app.close());
    return `${await app.listen({ host: "127.0.0.1", port: 0 })}/ops/inbox`;
  },
  Hono: () => {
    const app = new Hono().all("/ops/inbox/*", dashboard().hono);
    return serve(getRequestListener(app.fetch), "/ops/inbox");
  },
  "Node.js behind a proxy that removes a prefix": async () => {
    const inner = new URL(await serve(dashboard().node as RequestListener, "/"));
    const proxy: RequestListener = (request, response) => {
      const path = request.url?.replace(/^\/public/, "");
      const headers = { ...request.headers, host: inner.host };
      const onward = httpRequest(new URL(path ?? "/", inner), { method: request.method ?? "GET", headers });
      onward.on("response", (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    };
    return serve(proxy, "/public/ops/inbox");
  },
};

const script = readFileSync(new URL("../assets/dashboard.js", import.meta.url), "utf8");
const otto = { authorization: "Bearer otto" };

describe.each(Object.entries(mounts))("the dashboard on %s", (name, mount) => {
  it("redirects to its page, whose relative addresses lead to its calls", async () => {
    const page = await fetch(await mount(), { headers: otto });
    expect([page.status, page.redirected]).toEqual([200, true]);
    expect(page.url).toMatch(/inbox\/$/);
    expect(await page.text()).toContain("<title>");
    const session = await fetch(new URL("api/session", page.url), {
      method: "POST",
      headers: { ...pageHeaders, ...otto, origin: new URL(page.url).origin },
      body: "{}",
    });
    expect([session.status, await session.json()]).toMatchObject([200, { name: "otto", role: "operator" }]);
  });

  it("reads the body of a call, refuses an oversize one, and keeps its headers", async () => {
    const call = async (subject: string) =>
      fetch(`${await mount()}/api/count`, {
        method: "POST",
        headers: { ...pageHeaders, ...otto },
        body: JSON.stringify({ filter: { subject } }),
      });
    const counted = await call("730155284096617302");
    expect(await counted.json()).toEqual({ count: 0, isMore: false, searchedTo: null });
    expect(counted.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await call("1".repeat(70_000))).status).toBe(413);
  });

  it("is answered 404 to others, and gives authorize the framework's own request", async () => {
    seen.length = 0;
    const response = await fetch(`${await mount()}/`);
    expect([response.status, await response.text()]).toEqual([404, "Not Found"]);
    expect(seen).toHaveLength(1);
    expect(seen[0], name).toHaveProperty(name === "Hono" ? "req" : "headers");
  });

  it("gives the page's files in an encoding that the browser accepts, where the mount writes the answer", async () => {
    const url = `${await mount()}/assets/dashboard.js`;
    for (const [accepted, encoding] of [
      ["gzip, deflate, br, zstd", "br"],
      ["gzip;q=1.0, br;q=0", "gzip"],
      ["identity, gzip;q=0", null],
    ] as const) {
      const file = await fetch(url, { headers: { ...otto, "accept-encoding": accepted } });
      const [found, vary] = ["content-encoding", "vary"].map((header) => file.headers.get(header));
      expect([found, vary], accepted).toEqual([name === "Hono" ? null : encoding, "accept-encoding"]);
      expect((await file.text()) === script, accepted).toBe(true);
    }
  });

  it("works on few of 5,000 requests that one connection sends, and reads no more of them", async () => {
    if (name.includes("proxy") || name === "Hono") return; // the connection is not ours
    const url = new URL(`${await mount()}/assets/dashboard.js`);
    const statuses = await pipelined(url.href, 5000, otto);
    expect(statuses.length).toBeLessThan(5000);
    expect((await fetch(url, { headers: otto })).status).toBe(200);
  });

  it("refuses a call of another site", async () => {
    const response = await fetch(`${await mount()}/api/session`, {
      method: "POST",
      headers: { ...pageHeaders, ...otto, "sec-fetch-site": "cross-site" },
      body: "{}",
    });
    expect(response.status).toBe(403);
  });
});

it("lets authorize read what the middleware of Express has found out", async () => {
  const own = inboxDashboard(memoryInbox(), {
    authorize: (_, { user }: express.Request & { user?: string }) =>
      user === undefined ? null : { role: "viewer", name: user },
  });
  const app = express().use((request, _response, next) => {
    Object.assign(request, { user: request.get("x-user") });
    next();
  });
  const url = await serve(app.use("/inbox", own.node), "/inbox/");
  expect((await fetch(url)).status).toBe(404);
  const session = await fetch(`${url}api/session`, {
    method: "POST",
    headers: { ...pageHeaders, "x-user": "vera" },
    body: "{}",
  });
  expect(await session.json()).toMatchObject({ name: "vera", role: "viewer" });
});

it("answers HEAD without a body on Node.js", async () => {
  const url = await mounts["Node.js"]?.();
  const response = await fetch(`${url}/`, { method: "HEAD", headers: otto });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

it("finds the path of a target in absolute form on Node.js", async () => {
  const url = (await mounts["Node.js"]?.()) as string;
  for (const [path, status] of [
    [`${url}/`, 200],
    [url, 307],
  ] as const) {
    const answered = Promise.withResolvers<number | undefined>();
    httpRequest(url, { path, headers: otto }, (answer) => answered.resolve(answer.resume().statusCode)).end();
    expect([path, await answered.promise]).toEqual([path, status]);
  }
});

it("ends a request whose client leaves before its body has arrived", async () => {
  const server = createServer(dashboard().node as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const closed = new Promise<void>((resolve) => {
    server.on("request", (_, response) => response.on("close", resolve));
  });
  const leaving = httpRequest({
    port,
    method: "POST",
    path: "/api/count",
    headers: { "content-length": "100" },
  });
  leaving.on("error", () => {});
  leaving.write("{", () => leaving.destroy());
  await closed;
  await new Promise((resolve) => server.close(resolve));
});
