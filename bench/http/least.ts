// The least that a receiver can do: floors for ours, which a user should not run.
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { createKeyring, esimCatalog, verify } from "@esim-webhooks/core";
import express, { type Express, type RequestHandler } from "express";
import fastify, { type FastifyInstance } from "fastify";

const answer = '{"outcome":"processed"}';

/** Our `verify` and `catalog.parse`, and `work` for each id. It has no receiver: no limits, no deadline, no lease and no log. */
export function leastFastify(secret: string, work: (id: string) => Promise<void>): FastifyInstance {
  const keyring = createKeyring(secret);

  async function statusOf(request: IncomingMessage): Promise<number> {
    const body = await bodyOf(request);
    const proof = verify({ headers: request.headers, body }, keyring);
    if (!proof.ok) return 401;
    if (esimCatalog.parse(proof.id, body).kind !== "known") return 500;
    await work(proof.id);
    return 200;
  }

  const app = fastify();
  app.route({
    method: "POST",
    url: "/webhooks",
    onRequest(request, reply) {
      statusOf(request.raw)
        .then((status) => reply.code(status).header("content-type", "application/json").send(answer))
        .catch((error) => reply.send(error));
    },
    handler: async () => {},
  });
  return app;
}

/** The least work of a verifying middleware of Express: take the body, hash it, parse it and answer. It checks nothing. */
export function leastMiddleware(secret: string): Express {
  const middleware: RequestHandler = async (request, response) => {
    const body = await bodyOf(request);
    createHmac("sha256", secret).update(body).digest();
    JSON.parse(body.toString());
    response
      .writeHead(200, { "content-type": "application/json", "content-length": answer.length })
      .end(answer);
  };
  return express().use(middleware);
}

/** The body, without a listener if it came together with its headers. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  await undefined; // Node.js takes what has come with the headers
  if (request.readableLength !== Number(request.headers["content-length"])) return buffer(request);
  const body: Buffer = request.read();
  request.resume();
  return body;
}
