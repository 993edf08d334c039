import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";

/** A connection to a victim, byte by byte. */
export interface SlowClient {
  /** Sends the head of a POST whose body will have `length` bytes, and of the body only `beginning`. */
  begin(headers: Readonly<Record<string, string>>, length: number, beginning?: string): void;
  write(bytes: string | Uint8Array): void;
  /** Sends a byte every `everyMs` until the connection has ended. */
  drip(everyMs: number): void;
  /** Breaks the connection off (RST). */
  abort(): void;
  /** Resolves to the status of the first answer, or to undefined if the connection ends without one. */
  readonly status: Promise<number | undefined>;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
}

/** Opens a connection that ends with the test. */
export async function slowClient(url: string): Promise<SlowClient> {
  const { hostname, port, pathname, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const status = new Promise<number | undefined>((resolve) => {
    let answer = "";
    socket.on("data", (bytes) => {
      answer += bytes.toString("latin1");
      const match = /^HTTP\/1\.1 (\d{3}) /.exec(answer);
      if (match !== null) resolve(Number(match[1]));
    });
    void ended.then(() => resolve(undefined));
  });
  socket.on("error", () => {}); // the server has cut it
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return {
    status,
    ended,
    begin(headers, length, beginning = "") {
      const fields = Object.entries({ host, ...headers, "content-length": String(length) });
      const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n${beginning}`);
    },
    write(bytes) {
      socket.write(bytes);
    },
    drip(everyMs) {
      const timer = setInterval(() => socket.write("x"), everyMs);
      void ended.then(() => clearInterval(timer));
    },
    abort() {
      socket.resetAndDestroy();
    },
  };
}
