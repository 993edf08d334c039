import { expect, it } from "vitest";
import { encodeAttempt, readHistory, withAttempt } from "../../src/store/history.ts";

const report = { reason: "failed", durationMs: 123_456, worker: `${"h".repeat(60)}:4194304:abcdef` } as const;

it("stays below 8 KiB with its times, with any errors", () => {
  for (const character of ["x", "é", "\u{1F4F6}", "\ud800", '"', "\0"]) {
    let history: string | null = null;
    for (let n = 0; n < 12; n += 1)
      history = withAttempt(history, encodeAttempt({ ...report, error: character.repeat(5000) }), Date.now());
    expect(Buffer.byteLength(history ?? "")).toBeLessThanOrEqual(8192);
    expect(readHistory(history)).toHaveLength(10);
  }
});

it("takes no time in proportion to the length of an error", () => {
  const error = "no SIM +49 151 2345 6789 ".repeat(200_000);
  const times = [1, 2, 3, 4, 5].map(() => {
    const before = process.cpuUsage(); // other programs may run meanwhile
    encodeAttempt({ ...report, error });
    return process.cpuUsage(before).user / 1000;
  });
  expect(Math.min(...times)).toBeLessThan(50); // masking all of it takes 0.7 s
  expect(encodeAttempt({ ...report, error })).toContain('"error":"no SIM ••• no SIM');
});
