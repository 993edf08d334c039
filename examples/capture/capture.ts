import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import type { NodeRequest } from "@esim-webhooks/core";

const file = process.env["CAPTURED"] ?? "captured.json";

/** Reads the raw bytes of a delivery, hands them to the receiver, and keeps the last delivery that was answered 401. */
export async function capture(request: NodeRequest, response: ServerResponse): Promise<void> {
  const receivedAt = new Date();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > 1_048_576) throw new Error("a body is too long to capture"); // answered 500: the sender tries again
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  request.rawBody = bytes; // the receiver verifies these
  response.once("finish", () => {
    if (response.statusCode !== 401) return;
    const captured = { headers: request.headers, body: bytes.toString("base64"), receivedAt };
    writeFile(file, JSON.stringify(captured), { mode: 0o600 }).catch(console.error); // personal data
  });
}
