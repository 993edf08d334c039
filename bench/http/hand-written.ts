// A hand-written receiver: `standardwebhooks`, zod and ids that are remembered, on Fastify and on Express.
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import fastify, { type FastifyInstance } from "fastify";
import { Webhook } from "standardwebhooks";
import { z } from "zod";

/** Remembers ids while they are worked and once they are done. */
export interface Ids {
  /** False if the id is being worked, or is done. */
  claim(id: string): boolean | Promise<boolean>;
  complete(id: string): unknown;
  release(id: string): unknown;
}

const esim = {
  profileReference: z.string(),
  esimReference: z.string(),
  iccid: z.string().optional(),
  eid: z.string().optional(),
};
const eventOf = <Type extends string, Data extends z.ZodRawShape>(type: Type, data: Data) =>
  z.object({ type: z.literal(type), timestamp: z.iso.datetime(), data: z.object(data) });
const eventSchema = z.discriminatedUnion("type", [
  eventOf("esim.assigned", esim),
  eventOf("esim.downloaded", esim),
  eventOf("esim.installed", esim),
  eventOf("esim.enabled", esim),
  eventOf("esim.disabled", esim),
  eventOf("esim.deleted", esim),
  eventOf("esim.faulted", { ...esim, reason: z.string(), detail: z.unknown() }),
]);
export type HandWrittenEvent = z.infer<typeof eventSchema>;

interface Answer {
  readonly status: number;
  readonly body: object;
}

export interface HandWritten {
  readonly secret: string;
  readonly ids: Ids;
  readonly handle: (event: HandWrittenEvent) => void | Promise<void>;
}

function receiveByHand({ secret, ids, handle }: HandWritten) {
  const webhook = new Webhook(secret);
  return async (bytes: Buffer, headers: Readonly<Record<string, unknown>>): Promise<Answer> => {
    let payload: unknown;
    try {
      payload = webhook.verify(bytes, headers as Record<string, string>);
    } catch {
      return { status: 401, body: { error: "invalid signature" } };
    }
    const event = eventSchema.safeParse(payload);
    if (!event.success) return { status: 500, body: { error: "invalid event" } };
    const id = headers["webhook-id"] as string;
    if (!(await ids.claim(id))) return { status: 200, body: { outcome: "duplicate" } };
    try {
      await handle(event.data);
      await ids.complete(id);
    } catch {
      await ids.release(id);
      return { status: 500, body: { error: "failed" } };
    }
    return { status: 200, body: { outcome: "processed" } };
  };
}

export function fastifyByHand(given: HandWritten): FastifyInstance {
  const receive = receiveByHand(given);
  const app = fastify();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: Buffer }>("/webhooks", async (request, reply) => {
    const { status, body } = await receive(request.body, request.headers);
    return reply.code(status).send(body);
  });
  return app;
}

export function expressByHand(given: HandWritten): Express {
  const receive = receiveByHand(given);
  const answer: RequestHandler = async (request, response) => {
    const { status, body } = await receive(request.body, request.headers);
    response.status(status).json(body);
  };
  // such as of express.raw, for a content-encoding that is not what it says
  const onError: ErrorRequestHandler = (error, _request, response, _next) =>
    void response.status(error.status ?? 500).json({ error: "failed" });
  const raw = express.raw({ type: "application/json", limit: "1mb" });
  return express().post("/webhooks", raw, answer).use(onError);
}
