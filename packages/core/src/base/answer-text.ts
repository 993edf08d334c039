const mostBytes = 64 * 1024;

/** Returns the first 64 KiB of an answer's body as text. Reads no further, since a body may be endless. */
export async function answerText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= mostBytes) break; // leaving the loop cancels the body
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostBytes));
}
