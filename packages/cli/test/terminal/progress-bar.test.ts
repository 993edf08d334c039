import { describe, expect, it } from "vitest";
import { progressBar } from "../../src/import/meter.ts";

const pace = {
  bytesRead: 57,
  totalBytes: 100,
  records: 1234567,
  recordsPerSecond: 310000.4,
  bytesPerSecond: 1,
};

describe("progressBar", () => {
  it("shows the part read, records, their rate and the time left", () => {
    expect(progressBar(pace)).toBe("█████████████▋░░░░░░░░░░   57%  1,234,567 records  310,000/s  43s left");
  });

  it("shows bytes and the rate when the total is unknown", () => {
    expect(progressBar({ ...pace, bytesRead: 3 * 1024 ** 2, totalBytes: undefined })).toBe(
      "3.0 MiB  1,234,567 records  310,000/s",
    );
  });

  it.each([20, 30, 40, 60, 79, 80, 200])("is never wider than a terminal of %i columns", (width) => {
    expect([...progressBar(pace, { width })].length).toBeLessThanOrEqual(width);
    expect([...progressBar({ ...pace, totalBytes: undefined }, { width })].length).toBeLessThanOrEqual(width);
  });

  it("is full at the end, also for an empty file", () => {
    expect(progressBar({ ...pace, bytesRead: 100 })).toMatch(/^█{24} {2}100% /);
    expect(progressBar({ ...pace, bytesRead: 0, totalBytes: 0 })).toMatch(/^█{24} {2}100% /);
  });

  it("shows no time left while the rate is unknown", () => {
    expect(progressBar({ ...pace, bytesPerSecond: 0 })).not.toContain("left");
  });
});
