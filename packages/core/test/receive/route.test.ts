import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { checkPlainPath, createRoute, type MountedPath } from "../../src/receive/route.ts";

const secret = newSecret();

/** Sends a delivery to a host that answers 404 to what the route passes on. */
async function deliver(
  url: string,
  { mounted, endpoints = false }: { mounted?: MountedPath; endpoints?: boolean } = {},
) {
  const lookedUp: unknown[] = [];
  const lookup = {
    endpoints: (path: string) => {
      lookedUp.push(path);
      return { secret, source: "acme" };
    },
  };
  const lines: Record<string, unknown>[] = [];
  const logger = loggerWith({ error: (fields) => void lines.push(fields) });
  const receiver = createReceiver({ "*": () => {} }, endpoints ? lookup : { secret });
  const route = createRoute(receiver, "/webhooks", logger);
  const finished = new EventEmitter();
  const server = createServer((request, response) => {
    response.once("finish", () => finished.emit("finish"));
    route(request, response, () => response.writeHead(404).end(), mounted);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const request = signedDelivery(secret);
  const { port } = server.address() as AddressInfo;
  const answered = once(finished, "finish");
  const { status } = await fetch(`http://127.0.0.1:${port}${url}`, request);
  await answered;
  return { status, lookedUp, codes: lines.map(({ code }) => code) };
}

it.each(["/webhooks", "/Webhooks/", "/webhooks?from=partner"])("receives at %s", async (url) => {
  expect(await deliver(url)).toMatchObject({ status: 200, codes: [] });
});

it.each(["/", "/webhooks/acme", "/webhooks-old", "/api/webhooks"])(
  "passes %s on, and says that a delivery was missed",
  async (url) => {
    expect(await deliver(url)).toMatchObject({ status: 404, codes: ["delivery_missed"] });
  },
);

it("receives at the place where the host mounts it, if that is its own path", async () => {
  const mounted = { baseUrl: "/api/webhooks", path: "/" };
  expect(await deliver("/any", { mounted })).toMatchObject({ status: 200 });
  expect(await deliver("/any", { mounted: { baseUrl: "/api", path: "/" } })).toMatchObject({ status: 404 });
});

it("looks up an endpoint by the path below, as it was sent", async () => {
  const { status, lookedUp } = await deliver("/Webhooks/Acme%20Ltd?x=1", { endpoints: true });
  expect([status, lookedUp]).toEqual([200, ["/Acme%20Ltd"]]);
  expect(await deliver("/other/acme", { endpoints: true })).toMatchObject({ status: 404, lookedUp: [] });
});

it.each(["webhooks", "/a/:id", "/a/*", "", undefined, 3])(
  "refuses %j as a path, and says what to write",
  (path) => {
    expect(() => checkPlainPath("webhookRouter", path, "mount the router there")).toThrow(
      'webhookRouter: the path is not a plain path. Write a path that starts with "/" and has no pattern, such as "/webhooks", or mount the router there.',
    );
  },
);

it.each(["/", "/webhooks", "/a/b-c_d.e~f%20/"])("accepts %j as a path", (path) => {
  expect(() => checkPlainPath("webhookRouter", path, "mount the router there")).not.toThrow();
});
