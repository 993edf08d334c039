/**
 * Whether an SQLite version has the WAL-reset bug: two connections that write and checkpoint a write-ahead log at the same
 * moment can corrupt the file (sqlite.org/wal.html#walresetbug). In 3.7.0 to 3.51.2, but for the lines it was mended in.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3 || minor < 7) return false; // 3.7.0 was the first to have a log
  const mendedAt = { 44: 6, 50: 7, 51: 3 }[minor];
  return mendedAt === undefined ? minor < 51 : patch < mendedAt;
}
