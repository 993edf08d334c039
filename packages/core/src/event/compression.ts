/** Returns how a body that is not UTF-8 is compressed, by its first bytes, else by its `content-encoding`: brotli, and deflate without a zlib header, have no fixed first bytes. */
export function compressionOf(body: Uint8Array, encoding?: string): string | undefined {
  const [first, second, third, fourth] = body;
  if (first === 0x1f && second === 0x8b) return "gzip";
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return "zstd";
  if (first === 0x78 && (second === 0x01 || second === 0x5e || second === 0x9c || second === 0xda))
    return "deflate";
  return knownEncoding(encoding);
}

/** The `content-encoding`, if it is one of the four known names. Undefined for a list or any other text, which any client can write. */
export function knownEncoding(encoding?: string): string | undefined {
  return /^(gzip|br|zstd|deflate)$/i.exec(encoding ?? "")?.[1]?.toLowerCase();
}
