import assert from "node:assert/strict";
import type { EndpointLookup, FoundEndpoint, WebhookEvent } from "@esim-webhooks/core";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { assertAnswer, faulted, noHandler, now, type Scenario, type ScenarioByOutcome } from "./scenario.ts";
import { send } from "./wire.ts";

const acme: FoundEndpoint = { source: "acme", secret: newSecret() };
const globex: FoundEndpoint = { source: "globex", secret: newSecret() };

/** Makes a signed delivery for an endpoint. */
const signedFor = ({ secret }: FoundEndpoint, id?: string) =>
  faulted({ secret: secret as string, at: now, ...(id !== undefined && { id }) });

/** Returns the URL of an endpoint below the route. */
const below = (url: string, path: string): string => `${url.replace(/\/$/, "")}${path}`;

/** Finds endpoints by the last segment of the path, since some adapters have no route. Records the paths that it was asked for. */
function lookup(found: Readonly<Record<string, FoundEndpoint>>): {
  endpoints: EndpointLookup;
  paths: string[];
} {
  const paths: string[] = [];
  const endpoints: EndpointLookup = async (path) => {
    paths.push(path);
    return found[path.slice(path.lastIndexOf("/") + 1)];
  };
  return { endpoints, paths };
}

const clock = { now: () => now.getTime() };

/** The outcomes that only a receiver with `endpoints` has. */
export const unknownEndpoint: Pick<ScenarioByOutcome, "unknown_endpoint" | "endpoint_unconfirmed"> = {
  unknown_endpoint: [
    "answers 404 to a path for which `endpoints` finds none when it is asked after the delivery arrived",
    async (withServer) => {
      const { endpoints, paths } = lookup({ acme });
      await withServer(noHandler, { endpoints, clock }, async ({ url }) => {
        assertAnswer(await send(below(url, "/globex"), signedFor(globex)), 404, "unknown_endpoint");
        assert.equal(paths.length, 1);
      });
    },
  ],
  endpoint_unconfirmed: [
    "answers 503 with Retry-After to a path for which `endpoints` found none less than 10 s ago, and looks it up again after that",
    async (withServer) => {
      const time = { now: now.getTime() };
      const found: Record<string, FoundEndpoint> = { acme };
      const { endpoints, paths } = lookup(found);
      const options = { endpoints, clock: { now: () => time.now } };
      await withServer({ "*": () => {} }, options, async ({ url }) => {
        const path = below(url, "/globex");
        const request = signedFor(globex);
        assertAnswer(await send(path, request), 404, "unknown_endpoint");
        found["globex"] = globex;
        time.now += 9_999;
        assertAnswer(await send(path, request), 503, "endpoint_unconfirmed");
        assert.equal(paths.length, 1);
        time.now += 1;
        assertAnswer(await send(path, request), 200, "processed");
        assertAnswer(await send(below(url, `/${"a".repeat(1100)}`), request), 503, "endpoint_unconfirmed");
        assert.equal(paths.length, 2);
      });
    },
  ],
};

/** Receivers with `endpoints`, in place of one secret and one source. */
export const manyEndpoints: readonly Scenario[] = [
  [
    "verifies the deliveries of each endpoint with its own secret, and answers 401 at the paths of others",
    async (withServer) => {
      const sources: string[] = [];
      const record = (_event: WebhookEvent, { source }: { readonly source: string }) =>
        void sources.push(source);
      const { endpoints } = lookup({ acme, globex });
      await withServer({ "*": record }, { endpoints, clock }, async ({ url }) => {
        for (const [path, other] of [
          ["/acme", globex],
          ["/globex", acme],
        ] as const) {
          assertAnswer(await send(below(url, path), signedFor(other)), 401, "no_matching_key");
        }
        assert.deepEqual(sources, []);
        // ids are unique within a source: neither is a duplicate of the other
        assertAnswer(await send(below(url, "/acme"), signedFor(acme, "msg_1")), 200, "processed");
        assertAnswer(await send(below(url, "/globex"), signedFor(globex, "msg_1")), 200, "processed");
        assertAnswer(await send(below(url, "/acme"), signedFor(acme, "msg_1")), 200, "duplicate");
        assert.deepEqual(sources, ["acme", "globex"]);
      });
    },
  ],
  [
    "stores the events of each endpoint under its own source",
    async (withServer) => {
      const inbox = memoryInbox();
      const { endpoints } = lookup({ acme, globex });
      await withServer(inbox, { endpoints, clock }, async ({ url }) => {
        for (const endpoint of [acme, globex]) {
          const path = below(url, `/${endpoint.source}`);
          assertAnswer(await send(path, signedFor(endpoint, "msg_1")), 202, "stored");
          assert.equal((await inbox.get({ source: endpoint.source, id: "msg_1" }))?.source, endpoint.source);
        }
      });
    },
  ],
  [
    "looks up a path once for all its deliveries, with any query and with a slash at its end",
    async (withServer) => {
      const { endpoints, paths } = lookup({ acme });
      await withServer({ "*": () => {} }, { endpoints, clock }, async ({ url }) => {
        const paths = ["/acme", "/acme/", "/acme?a=1", "/acme/?b=/x", "/acme"];
        const answers = await Promise.all(paths.map((path) => send(below(url, path), signedFor(acme))));
        for (const answer of answers) assertAnswer(answer, 200, "processed");
      });
      assert.equal(paths.length, 1);
      assert.match(paths[0] as string, /^\/(.+\/)?acme$/);
    },
  ],
  [
    "looks up nothing for a request that is not a POST or not signed",
    async (withServer) => {
      const { endpoints, paths } = lookup({ acme });
      await withServer(noHandler, { endpoints, clock }, async ({ url }) => {
        assertAnswer(await send(below(url, "/acme"), { method: "GET" }), 405, "method_not_allowed");
        assertAnswer(await send(below(url, "/acme"), { body: "{}" }), 400, "missing_header");
      });
      assert.deepEqual(paths, []);
    },
  ],
  [
    "answers 503 when the lookup fails, and looks the path up again for the next attempt",
    async (withServer) => {
      let isDown = true;
      const endpoints: EndpointLookup = () => {
        if (isDown) throw new Error("the table of endpoints is unreachable");
        return acme;
      };
      await withServer({ "*": () => {} }, { endpoints, clock }, async ({ url }) => {
        const request = signedFor(acme);
        assertAnswer(await send(below(url, "/acme"), request), 503, "keys_unavailable");
        isDown = false;
        assertAnswer(await send(below(url, "/acme"), request), 200, "processed");
      });
    },
  ],
  [
    "answers 503 at all endpoints once it shuts down",
    async (withServer) => {
      const { endpoints } = lookup({ acme, globex });
      await withServer({ "*": () => {} }, { endpoints, clock }, async (server) => {
        assertAnswer(await send(below(server.url, "/acme"), signedFor(acme)), 200, "processed");
        await server.shutDown();
        // a server that stops listening refuses the connection, after which the sender tries again too
        for (const endpoint of [acme, globex]) {
          const sent = send(below(server.url, `/${endpoint.source}`), signedFor(endpoint));
          const answer = await sent.catch(({ code }) => assert.equal(code, "ECONNREFUSED"));
          if (answer) assertAnswer(answer, 503, "shutting_down");
        }
      });
    },
  ],
];
