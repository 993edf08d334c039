import { describe, expect, it } from "vitest";
import { createMeter } from "../../src/import/meter.ts";

function meterOf(
  columns?: () => number,
  { totalBytes }: { totalBytes?: number | undefined } = { totalBytes: 1000 },
) {
  let time = 0;
  const written: string[] = [];
  const meter = createMeter({ write: (text) => written.push(text), totalBytes, columns, now: () => time });
  const update = (at: number, bytesRead: number, read: number) => {
    time = at;
    meter.update({ bytesRead, ledger: { read } });
  };
  return { meter, written, update };
}

describe("the meter of an import", () => {
  it("draws a bar over itself on a terminal, ten times a second at most", () => {
    const { written, update } = meterOf(() => 80);
    update(0, 0, 0);
    update(50, 10, 5);
    update(100, 100, 50);
    expect(written).toEqual([
      "\r\u001b[2K░░░░░░░░░░░░░░░░░░░░░░░░    0%  0 records  0/s",
      "\r\u001b[2K██▍░░░░░░░░░░░░░░░░░░░░░   10%  50 records  500/s  0s left",
    ]);
  });

  it("takes its bar away once, so that something else can be said", () => {
    const { meter, written, update } = meterOf(() => 80);
    update(0, 0, 0);
    meter.clear();
    meter.clear();
    expect(written.slice(1)).toEqual(["\r\u001b[2K"]);
  });

  it("leaves the bar as it was in the end, with the rate of the whole", () => {
    const { meter, written, update } = meterOf(() => 80);
    update(0, 0, 0);
    update(9950, 900, 900);
    update(10_000, 1000, 1000);
    meter.end();
    expect(written.at(-2)).toBe("\r\u001b[2K████████████████████████  100%  1,000 records  100/s");
    expect(written.at(-1)).toBe("\n");
  });

  it("writes JSON lines where there is no terminal, one a second", () => {
    const { written, update } = meterOf();
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

  it("counts no rate of what an earlier run had done", () => {
    const { written, update } = meterOf();
    update(0, 500, 1_000_000);
    update(1000, 600, 1_000_010);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ progress: { recordsPerSecond: 10 } });
  });

  it("knows no time left of what comes by a pipe", () => {
    const { written, update } = meterOf(undefined, {});
    update(0, 0, 0);
    update(1000, 100, 10);
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ progress: { totalBytes: null, secondsLeft: null } });
  });
});
