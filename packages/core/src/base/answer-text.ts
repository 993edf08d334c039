const mostBytes = 64 * 1024;

/** The body of an answer as text. Of one that is longer than 64 KiB, or endless, only the beginning is read. */
export async function answerText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= mostBytes) break; // which cancels the body
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostBytes));
}
