import { describe, expect, it } from "vitest";
import { cut } from "../../src/terminal/text.ts";

describe("cut", () => {
  it("leaves a text that fits", () => {
    expect(cut("12345", 5)).toBe("12345");
  });

  it("ends a cut text with …", () => {
    expect(cut("123456", 5)).toBe("1234…");
  });

  it("never splits a character", () => {
    expect(cut("🎉🎉🎉🎉", 3)).toBe("🎉🎉…");
  });
});
