import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { createReceiver, type Logger, WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { type WebhookRouter, webhookRouter } from "@esim-webhooks/express";
import express5, { type Express, type RequestHandler } from "express";
import express4 from "express4";
import { fastify } from "fastify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { listen } from "../../../test/listen.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings("delivery_missed", "no_matching_key");

const secret = newSecret();
const versions: [string, typeof express5][] = [
  ["Express 5", express5],
  ["Express 4", express4 as unknown as typeof express5],
];

function request() {
  return signedDelivery(secret, { type: "esim.assigned" });
}

async function serving<T>(app: Express, use: (url: string) => Promise<T>): Promise<T> {
  const server = await listen(app, "", async () => {});
  try {
    return await use(server.url);
  } finally {
    await server.close();
  }
}

function recordedErrors(): { logger: Logger; errors: string[] } {
  const errors: string[] = [];
  return { logger: loggerWith({ error: (_, message) => errors.push(message) }), errors };
}

describe.each(versions)("webhookRouter on %s", (_, express) => {
  it("reads the secret from ESIM_WEBHOOK_SECRET and accepts deliveries at /webhooks", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    const runs: string[] = [];
    const app = express().use(webhookRouter({ "esim.assigned": ({ data }) => runs.push(data.iccid) }));
    await serving(app, async (url) => {
      for (const path of ["/webhooks", "/webhooks/", "/Webhooks?x=1"]) {
        expect((await fetch(url + path, request())).status).toBe(200);
      }
      for (const path of ["/", "/webhook", "/webhooks/more"])
        expect((await fetch(url + path, request())).status).toBe(404);
    });
    expect(runs).toHaveLength(3);
  });

  it.each([
    ["", {}, "/webhooks"],
    ["", { path: "/in" }, "/in"],
    ["", { path: "/" }, ""],
    ["/hooks/:any", { path: "/webhooks" }, "/hooks/esim/webhooks"],
    ["/webhooks", {}, "/webhooks"],
    ["/Hooks/Webhooks", {}, "/hooks/webhooks"],
    ["/hooks", { path: "/" }, "/hooks"],
  ])("mounted at %j with %j, looks up what is below %s, as it was sent", async (mount, options, route) => {
    const paths: string[] = [];
    const endpoints = (path: string) => {
      paths.push(path);
      return { source: "acme", secret };
    };
    const router = webhookRouter({ "*": () => {} }, { ...options, endpoints });
    const app = express().use(mount || "/", router);
    await serving(app, async (url) => {
      for (const path of ["/acme", "/Ac%6De/eu", ""]) {
        expect((await fetch(`${url}${route}${path}`, request())).status).toBe(200);
      }
      if (route !== "") expect((await fetch(`${url}${route}x`, request())).status).toBe(404);
    });
    expect(paths).toEqual(["/acme", "/Ac%6De/eu", "/"]);
  });

  it("accepts deliveries at its mount path when its path is /", async () => {
    const app = express().use("/hooks/esim", webhookRouter({ "*": () => {} }, { secret, path: "/" }));
    await serving(app, async (url) => {
      expect((await fetch(`${url}/hooks/esim`, request())).status).toBe(200);
      expect((await fetch(`${url}/hooks/esim/`, request())).status).toBe(200);
      expect((await fetch(`${url}/hooks/esim/other`, request())).status).toBe(404);
      expect((await fetch(`${url}/webhooks`, request())).status).toBe(404);
    });
  });

  it("has the same endpoint when it is mounted at its own path, with app.use or app.post", async () => {
    const router = webhookRouter({ "*": () => {} }, { secret });
    for (const app of [express().use("/webhooks", router), express().post("/webhooks", router)]) {
      await serving(app, async (url) => {
        expect((await fetch(`${url}/webhooks`, request())).status).toBe(200);
        expect((await fetch(`${url}/webhooks/other`, request())).status).toBe(404);
        expect((await fetch(`${url}/other`, request())).status).toBe(404);
      });
    }
    await serving(
      express().use("/api/webhooks", webhookRouter({ "*": () => {} }, { secret })),
      async (url) => {
        expect((await fetch(`${url}/api/webhooks`, request())).status).toBe(200);
      },
    );
  });

  it("leaves other routes, their methods and their body parsers alone", async () => {
    const app = express()
      .use(webhookRouter({ "*": () => {} }, { secret }))
      .use(express.json())
      .post("/orders", ((incoming, response) => response.json(incoming.body)) as RequestHandler)
      .get("/orders", ((_, response) => response.send("list")) as RequestHandler);
    await serving(app, async (url) => {
      const headers = { "content-type": "application/json" };
      const posted = await fetch(`${url}/orders`, { method: "POST", headers, body: '{"a":1}' });
      expect(await posted.json()).toEqual({ a: 1 });
      expect(await (await fetch(`${url}/orders`)).text()).toBe("list");
    });
  });

  it("answers 500 at once, runs no handler and logs the remedy when express.json() ran first", async () => {
    const { logger, errors } = recordedErrors();
    let runs = 0;
    const router = webhookRouter(
      {
        "*": () => {
          runs += 1;
        },
      },
      { secret, logger },
    );
    await serving(express().use(express.json()).use(router), async (url) => {
      const answer = await fetch(`${url}/webhooks`, request());
      expect([answer.status, await answer.json()]).toMatchObject([500, { code: "body_consumed" }]);
    });
    expect(runs).toBe(0);
    expect(errors[0]).toMatch(
      /read by a body parser, such as express\.json\(\).*Mount the receiver before the parser/,
    );
  });

  it("answers 500 at once when other middleware has consumed the stream", async () => {
    const drain: RequestHandler = (incoming, _, next) => {
      incoming.resume().on("end", () => next());
    };
    const { logger, errors } = recordedErrors();
    const app = express()
      .use(drain)
      .use(webhookRouter({ "*": () => {} }, { secret, logger }));
    await serving(app, async (url) => {
      const answer = await fetch(`${url}/webhooks`, request());
      expect([answer.status, await answer.json()]).toMatchObject([500, { code: "body_consumed" }]);
    });
    expect(errors[0]).toMatch(/read by something before/);
  });

  it.each([
    [
      "express.json() kept in req.rawBody",
      () => express.json({ verify: (incoming, _, bytes) => Object.assign(incoming, { rawBody: bytes }) }),
    ],
    ["express.raw() left in req.body", () => express.raw({ type: "*/*" })],
  ])("verifies the raw bytes that %s", async (_, parser) => {
    const app = express()
      .use(parser())
      .use(webhookRouter({ "*": () => {} }, { secret }));
    await serving(app, async (url) => {
      expect((await fetch(`${url}/webhooks`, request())).status).toBe(200);
      expect((await fetch(`${url}/webhooks`, { ...request(), body: "{}" })).status).toBe(401);
    });
  });

  it("accepts a request that a parser for another content type has left alone", async () => {
    const app = express()
      .use(express.urlencoded({ extended: false }))
      .use(webhookRouter({ "*": () => {} }, { secret }));
    await serving(app, async (url) => expect((await fetch(`${url}/webhooks`, request())).status).toBe(200));
  });

  it.each([
    ["app.post", (app: Express, router: WebhookRouter) => app.post("/hooks", router), "/hooks", "/webhooks"],
    [
      "a mount",
      (app: Express, router: WebhookRouter) => app.use("/api", router),
      "/api/hooks",
      "/api/webhooks",
    ],
  ])(
    "warns once of signed deliveries that fall through %s at the same time, and says which path to set",
    async (_, mount, sent, path) => {
      const { logger, errors } = recordedErrors();
      const app = express();
      mount(app, webhookRouter({ "*": () => {} }, { secret, logger }));
      await serving(app, async (url) => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url + sent, request())));
        for (const { status } of answers) expect(status).toBe(404);
      });
      expect(errors).toEqual([
        expect.stringContaining(
          `answered 404: the webhook receiver waits for ${path}. Set { path } to the path of the endpoint's URL below the mount.`,
        ),
      ]);
      const mended = express();
      mount(mended, webhookRouter({ "*": () => {} }, { secret, path: "/hooks" }));
      await serving(mended, async (url) => expect((await fetch(url + sent, request())).status).toBe(200));
    },
  );

  it("says where a router waits that is mounted at its own path, without naming the path twice", async () => {
    const { logger, errors } = recordedErrors();
    const app = express().use("/webhooks", webhookRouter({ "*": () => {} }, { secret, logger }));
    await serving(app, async (url) => {
      expect((await fetch(`${url}/webhooks/more`, request())).status).toBe(404);
    });
    expect(errors).toEqual([expect.stringContaining("the webhook receiver waits for /webhooks. ")]);
  });

  it("does not warn of requests without a signature, nor of deliveries that another router takes", async () => {
    const { logger, errors } = recordedErrors();
    const app = express()
      .use(webhookRouter({ "*": () => {} }, { secret, logger, path: "/eu" }))
      .use(webhookRouter({ "*": () => {} }, { secret, logger, path: "/us" }));
    await serving(app, async (url) => {
      for (const path of ["/eu", "/us"]) expect((await fetch(url + path, request())).status).toBe(200);
      expect((await fetch(`${url}/other`, { method: "POST", body: "{}" })).status).toBe(404);
    });
    expect(errors).toEqual([]);
  });

  it("accepts a compressed body that express.raw() has inflated, if the plain bytes are signed", async () => {
    const app = express()
      .use(express.raw({ type: () => true }))
      .use(webhookRouter({ "*": () => {} }, { secret }));
    await serving(app, async (url) => {
      const { method, headers, body } = request();
      const gzipped = { method, headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) };
      expect((await fetch(`${url}/webhooks`, gzipped)).status).toBe(200);
    });
  });

  it("cuts off who goes on sending after an early answer when it closes", async () => {
    const router = webhookRouter({ "*": () => {} }, { secret });
    await serving(express().use(router), async (url) => {
      const { port } = new URL(url);
      const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
      const answered = once(socket, "data");
      socket.write("POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
      const drip = setInterval(() => socket.write("x"), 10);
      const ended = once(socket, "close").finally(() => clearInterval(drip));
      expect(String(await answered)).toMatch(/^HTTP\/1\.1 400 /);
      await router.close();
      await ended;
    });
  });

  it("answers 500 when rawBody is a string, which has lost the bytes, and says to keep them", async () => {
    const { logger, errors } = recordedErrors();
    const keepText: RequestHandler = async (incoming, _, next) => {
      const chunks = [];
      for await (const chunk of incoming) chunks.push(chunk);
      Object.assign(incoming, { rawBody: Buffer.concat(chunks).toString() });
      next();
    };
    const app = express()
      .use(keepText)
      .use(webhookRouter({ "*": () => {} }, { secret, logger }));
    await serving(app, async (url) => expect((await fetch(`${url}/webhooks`, request())).status).toBe(500));
    expect(errors[0]).toMatch(/req\.rawBody is a string.*Keep the bytes without toString\(\)/);
  });
});

describe("webhookRouter at start-up", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("throws without a secret, and names the variable to set", () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", undefined);
    expect(() => webhookRouter({ "*": () => {} })).toThrow(/no signing secret.*Set ESIM_WEBHOOK_SECRET/);
  });

  it("throws for a path that is not a plain path", () => {
    expect(() => webhookRouter({ "*": () => {} }, { secret, path: "webhooks" })).toThrow(
      /path that starts with "\/"/,
    );
  });

  it("names its path among the options when one is misspelt or unknown", () => {
    const create = (options: object) => () => webhookRouter({ "*": () => {} }, { secret, ...options });
    expect(create({ pth: "/hooks" })).toThrow('there is no option "pth". Did you mean "path"?');
    expect(create({ middlewareMode: true })).toThrow(
      /no option "middlewareMode"\. There are: secret, .*, path\./,
    );
  });

  it("says so when handlers are passed in place of options, or an inbox beside them", () => {
    const handlers = { "*": () => {} };
    class Inbox {
      async put() {
        return [];
      }
    }
    expect(() => webhookRouter(new Inbox(), handlers as never)).toThrow(
      "a map of handlers was passed as the options. Pass handlers or an inbox, not both",
    );
    expect(() => webhookRouter(handlers, new Inbox() as never)).toThrow(
      "an inbox was passed as the options. Pass handlers or an inbox, not both",
    );
    expect(() => webhookRouter({ secret } as never, handlers as never)).toThrow("Swap the arguments");
    expect(() => webhookRouter(handlers, null as never)).toThrow("the options are not an object.");
  });

  it("says that it is for Express when Fastify registers it", async () => {
    const registering = fastify().register(webhookRouter({ "*": () => {} }, { secret }) as never);
    const error = await registering.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(String(error)).toMatch(/is for Express.*On Fastify, register webhookPlugin/);
  });

  it("throws the receiver's errors", () => {
    for (const create of [webhookRouter, createReceiver]) {
      try {
        create({ "esim.faulte": () => {} } as never, { secret });
        expect.unreachable();
      } catch (error) {
        expect(WebhookError.is(error) && error.code).toBe("unknown_event_type");
      }
    }
  });
});
