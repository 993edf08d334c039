import { describe, expect, it } from "vitest";
import { createMeter } from "../../src/import/meter.ts";

function meterOf(
  columns?: () => number,
  { totalBytes, json = false }: { totalBytes?: number | undefined; json?: boolean } = { totalBytes: 1000 },
) {
  let time = 0;
  const written: string[] = [];
  const meter = createMeter({
    write: (text) => written.push(text),
    totalBytes,
    columns,
    json,
    now: () => time,
  });
  const update = (at: number, bytesRead: number, read: number) => {
    time = at;
    meter.update({ bytesRead, ledger: { read } });
  };
  return { meter, written, update };
}

describe("the meter of an import", () => {
  it("redraws its bar on a terminal at most ten times a second", () => {
    const { written, update } = meterOf(() => 80);
    update(0, 0, 0);
    update(50, 10, 5);
    update(100, 100, 50);
    expect(written).toEqual([
      "\r\u001b[2K░░░░░░░░░░░░░░░░░░░░░░░░    0%  0 records  0/s",
      "\r\u001b[2K██▍░░░░░░░░░░░░░░░░░░░░░   10%  50 records  500/s  0s left",
    ]);
  });

  it("erases its bar once, so that another line can be written", () => {
    const { meter, written, update } = meterOf(() => 80);
    update(0, 0, 0);
    meter.clear();
    meter.clear();
    expect(written.slice(1)).toEqual(["\r\u001b[2K"]);
  });

  it("draws the bar a last time at the end, with the average rate", () => {
    const { meter, written, update } = meterOf(() => 80);
    update(0, 0, 0);
    update(9950, 900, 900);
    update(10_000, 1000, 1000);
    meter.end();
    expect(written.at(-2)).toBe("\r\u001b[2K████████████████████████  100%  1,000 records  100/s");
    expect(written.at(-1)).toBe("\n");
  });

  it("writes a line for people per second without a terminal", () => {
    const { written, update } = meterOf();
    update(0, 0, 0);
    update(500, 100, 50);
    update(1000, 200, 100);
    expect(written).toEqual(["20%  100 records  100/s  4s left\n"]);
  });

  it("writes one JSON line per second without a terminal, with --json", () => {
    const { written, update } = meterOf(undefined, { totalBytes: 1000, json: true });
    update(0, 0, 0);
    update(500, 100, 50);
    update(1000, 200, 100);
    update(1500, 300, 150);
    update(2000, 400, 200);
    expect(written.map((line) => JSON.parse(line))).toEqual([
      { progress: { bytesRead: 200, totalBytes: 1000, recordsPerSecond: 100, secondsLeft: 4, read: 100 } },
      { progress: { bytesRead: 400, totalBytes: 1000, recordsPerSecond: 100, secondsLeft: 3, read: 200 } },
    ]);
  });

  it("does not count the records of an earlier run in the rate", () => {
    const { written, update } = meterOf(undefined, { totalBytes: 1000, json: true });
    update(0, 500, 1_000_000);
    update(1000, 600, 1_000_010);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ progress: { recordsPerSecond: 10 } });
  });

  it("gives no time left for a pipe", () => {
    const { written, update } = meterOf(undefined, { json: true });
    update(0, 0, 0);
    update(1000, 100, 10);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ progress: { totalBytes: null, secondsLeft: null } });
  });
});
