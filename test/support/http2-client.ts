import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { onTestFinished } from "vitest";
import { signedDelivery } from "./signed-delivery.ts";

/** Opens a session of HTTP/2 without TLS. It ends with the test. */
export function openSession(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  return session;
}

/** Sends the beginning of a body. Resolves when the server has closed the stream, with its status and the code of RST_STREAM. */
export async function sendUnended(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly code: number }> {
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  stream.resume().write("{");
  const closed = once(stream, "close");
  const [answer] = await once(stream, "response");
  await closed;
  return { status: answer[":status"], code: stream.rstCode };
}

/** Sends a signed delivery, and returns the status of its answer. */
export async function deliver(session: ClientHttp2Session, path: string, secret: string): Promise<number> {
  const { headers, body } = signedDelivery(secret);
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  stream.resume().end(body);
  const [answer] = await once(stream, "response");
  return answer[":status"];
}
