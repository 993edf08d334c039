import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { StartServer } from "@esim-webhooks/conformance";
import { type HttpEvent, type HttpResult, lambdaHandler } from "@esim-webhooks/lambda";
import { expect } from "vitest";
import { listen } from "../../../test/listen.ts";

/** How a source of HTTP events makes an event of a request, and a response of a result. */
export interface EventSource {
  readonly name: string;
  event(request: IncomingMessage, body: Buffer): HttpEvent;
  /** The headers of the response. Fails for a result that the source would answer with 502. */
  headers(result: HttpResult): Readonly<Record<string, string | readonly string[]>>;
}

/** Format 1.0, of a REST API whose binary media types are "every type". It keeps the case of names. */
const restApi: EventSource = {
  name: "API Gateway, format 1.0",
  event: (request, body) => {
    const lists = listsOf(request);
    const last = Object.entries(lists).map(([name, values]) => [name, values.at(-1) ?? ""]);
    return {
      httpMethod: request.method ?? "",
      path: pathOf(request),
      headers: Object.fromEntries(last),
      multiValueHeaders: lists,
      ...(body.length > 0
        ? { body: body.toString("base64"), isBase64Encoded: true }
        : { body: null, isBase64Encoded: false }),
      requestContext: {},
    };
  },
  headers({ statusCode, headers, multiValueHeaders, body, isBase64Encoded, ...others }) {
    expect(others).toEqual({});
    return { ...headers, ...multiValueHeaders };
  },
};

/** Format 2.0: names in lower case, values joined, text as it is, without a body if it is empty. */
const formatTwo = (name: string): EventSource => ({
  name,
  event: (request, body) => ({
    rawPath: pathOf(request),
    headers: Object.fromEntries(
      Object.entries(listsOf(request)).map(([name, values]) => [
        name.toLowerCase(),
        inUtf8(values.join(",")),
      ]),
    ),
    ...(body.length > 0 && passedOn(request, body)),
    requestContext: { http: { method: request.method ?? "" } },
  }),
  headers({ statusCode, headers, body, isBase64Encoded, ...others }) {
    expect(others).toEqual({});
    return headers ?? {};
  },
});

/** A load balancer, whose target group has multi-value headers or not. It reads only the kind that it has sent. */
const loadBalancer = (isMultiValue: boolean): EventSource => ({
  name: isMultiValue ? "ALB, multi-value headers" : "ALB",
  event: (request, body) => {
    const lists = Object.entries(listsOf(request)).map(
      ([name, values]) => [name.toLowerCase(), values] as const,
    );
    const { body: text = "", isBase64Encoded } = passedOn(request, body);
    return {
      httpMethod: request.method ?? "",
      path: pathOf(request),
      ...(isMultiValue
        ? { multiValueHeaders: Object.fromEntries(lists) }
        : { headers: Object.fromEntries(lists.map(([name, values]) => [name, values.at(-1) ?? ""])) }),
      body: text,
      isBase64Encoded,
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:…" } },
    };
  },
  headers({ headers, multiValueHeaders }) {
    return (isMultiValue ? multiValueHeaders : headers) ?? {};
  },
});

export const sources: readonly EventSource[] = [
  restApi,
  formatTwo("API Gateway, format 2.0"),
  formatTwo("function URL"),
  loadBalancer(true),
];

/** The default of a target group. Of a repeated header, it passes on only the last value. */
export const plainLoadBalancer: EventSource = loadBalancer(false);

/** A server that makes an event of each request, as `source` does once it has the whole body. */
export function onLambda(source: EventSource): StartServer {
  return (target, options, before) => {
    const handler = lambdaHandler(target, options);
    return listen(
      async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk);
        await before();
        const endsAt = performance.now() + 30_000;
        const context = { getRemainingTimeInMillis: () => endsAt - performance.now() };
        const sent = JSON.parse(JSON.stringify(source.event(request, Buffer.concat(chunks)))) as HttpEvent;
        const result: HttpResult = JSON.parse(JSON.stringify(await handler(sent, context)));
        response.writeHead(result.statusCode, source.headers(result) as Record<string, string>);
        response.end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
      },
      "/webhooks",
      handler.close,
    );
  };
}

const textType = /^(?:text\/.*|application\/(?:json|javascript|xml))(?:;|$)/;

/** Text stays text; all else, and what has a content-encoding, is base64. */
function passedOn(
  { headers }: IncomingMessage,
  body: Buffer,
): Pick<HttpEvent, "body"> & { isBase64Encoded: boolean } {
  const isText =
    textType.test(headers["content-type"] ?? "") && headers["content-encoding"] === undefined && isUtf8(body);
  return { body: body.toString(isText ? "utf8" : "base64"), isBase64Encoded: !isText };
}

/** The headers with each value, under the name in the case of the first. */
function listsOf({ rawHeaders }: IncomingMessage): Record<string, string[]> {
  const lists: Record<string, string[]> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    const known = Object.keys(lists).find((other) => other.toLowerCase() === name.toLowerCase()) ?? name;
    lists[known] = [...(lists[known] ?? []), rawHeaders[index + 1] ?? ""];
  }
  return lists;
}

function inUtf8(value: string): string {
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString() : value;
}

function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}
