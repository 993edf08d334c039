import type { ByteSource } from "./byte-source.ts";
import { damagedDump } from "./errors.ts";

/**
 * Converts text in UTF-16 to UTF-8, without its byte order mark. Throws `damaged_dump` at the first chunk that is not UTF-16, and at
 * a gap, where half a character may be missing.
 * @param gaps the offsets at which bytes are missing
 */
export async function* utf8Of(
  source: ByteSource,
  encoding: "utf-16le" | "utf-16be",
  gaps: readonly number[],
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const text = (bytes?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(bytes, { stream: bytes !== undefined }));
    } catch (cause) {
      const place = `within the ${bytes?.byteLength ?? 0} bytes before byte ${source.taken()}`;
      throw damagedDump(`The text is not ${encoding.toUpperCase()} ${place}.`, cause);
    }
  };
  for (;;) {
    const from = source.taken();
    const gap = gaps.find((at) => at > from);
    const bytes = await source.next(gap && gap - from);
    if (bytes === undefined) break;
    if (gaps.some((at) => at <= from)) {
      throw damagedDump(`Bytes of the ${encoding.toUpperCase()} text are missing at its byte ${from}.`);
    }
    yield text(bytes);
  }
  yield text();
}
