import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";

/** A raw HTTP request: headers may repeat, and the body may be sent in chunks. */
export interface WireRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An array is sent chunk by chunk, without a Content-Length. */
  readonly body?: string | Uint8Array | readonly Uint8Array[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Sends one request on a new connection. */
export function send(url: string, { method = "POST", headers = {}, body }: WireRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks =
      body === undefined || typeof body === "string" || body instanceof Uint8Array ? undefined : body;
    const length =
      chunks === undefined && body !== undefined
        ? { "content-length": Buffer.byteLength(body as string) }
        : {};
    const request = httpRequest(url, { method, agent: false, headers: { ...headers, ...length } as never });
    request.on("error", reject);
    request.on("response", async (response) => {
      const read: Buffer[] = [];
      for await (const chunk of response) read.push(chunk as Buffer);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(read).toString(),
      });
    });
    for (const chunk of chunks ?? []) request.write(chunk);
    request.end(chunks === undefined ? body : undefined);
  });
}

/** Reads the first answer on a raw connection, whose body must be a JSON object. */
export function answerOn(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.once("error", reject).once("close", () => reject(new Error(`The answer ended: ${text}`)));
    socket.on("data", (bytes) => {
      text += String(bytes);
      const [head = "", rest = ""] = text.split("\r\n\r\n");
      const [body] = /\{.*\}/.exec(rest) ?? []; // without the lengths of chunks
      if (body === undefined) return; // only the head has arrived
      const [statusLine = "", ...lines] = head.split("\r\n");
      const headers = lines.map((line) => line.split(/: (.*)/).slice(0, 2));
      resolve({
        status: Number(statusLine.split(" ")[1]),
        headers: Object.fromEntries(headers.map(([name = "", value]) => [name.toLowerCase(), value])),
        body,
      });
    });
  });
}

/** Opens a connection, announces a body of `length` bytes, and sends only its beginning. */
export function sendHalf(
  url: string,
  headers: Readonly<Record<string, string>>,
  half: string,
  length: number,
): Promise<Socket> {
  const { hostname, port, pathname, host } = new URL(url);
  const head = Object.entries({ host, ...headers, "content-length": String(length) });
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      const lines = [
        `POST ${pathname} HTTP/1.1`,
        ...head.map(([name, value]) => `${name}: ${value}`),
        "",
        half,
      ];
      socket.write(lines.join("\r\n"), () => resolve(socket));
    });
    socket.on("error", reject);
  });
}
