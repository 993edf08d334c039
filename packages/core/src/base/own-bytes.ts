/** On bytes whose memory nobody else uses. */
const own: unique symbol = Symbol("esim-webhooks.own");

const longBytes = 4 * 1024;

/** Marks bytes whose memory nobody else uses, for `freeOwn`. Leaves out short bytes, and those that are a part of a buffer. */
export function markOwn(bytes: Uint8Array): Uint8Array {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength;
  return isWhole && bytes.byteLength >= longBytes ? Object.assign(bytes, { [own]: true }) : bytes;
}

/**
 * Frees the memory of marked bytes, which are empty from then on. Otherwise V8 collects its whole heap for each 64 MB of
 * bodies, since their memory is not in the heap.
 */
export function freeOwn(bytes: Uint8Array): void {
  if (own in bytes) (bytes.buffer as ArrayBuffer).transfer(0);
}
