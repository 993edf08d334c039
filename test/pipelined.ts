import { connect } from "node:net";

/** Sends `count` GET requests on one connection before it reads an answer. Resolves to the statuses of the answers that arrive, in order. */
export async function pipelined(
  url: string,
  count: number,
  headers: Record<string, string> = {},
): Promise<string[]> {
  const { hostname, port, pathname, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = (end: string) => `GET ${pathname} HTTP/1.1\r\n${lines.join("")}${end}\r\n`;
  socket.end(request("").repeat(count - 1) + request("connection: close\r\n"));
  let text = "";
  socket.setEncoding("latin1");
  try {
    for await (const chunk of socket) text += chunk;
  } catch {} // the server has closed it before it read everything
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status = ""]) => status);
}
