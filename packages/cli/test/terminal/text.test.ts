import { describe, expect, it } from "vitest";
import { cut, printable } from "../../src/terminal/text.ts";

describe("printable", () => {
  it("shows what would drive the terminal as its code", () => {
    expect(printable("\u001b[31mred\u0007\u009b2J")).toBe("\\u001b[31mred\\u0007\\u009b2J");
  });

  it("shows what would turn the direction of the line as its code", () => {
    expect(printable("a\u202eb\u2066c")).toBe("a\\u202eb\\u2066c");
  });

  it("keeps a text of several lines on one", () => {
    expect(printable("a\nb\tc\r")).toBe("a b c\\u000d");
  });

  it("leaves every other text as it is", () => {
    expect(printable("Zürich 東京 🎉 …")).toBe("Zürich 東京 🎉 …");
  });
});

describe("cut", () => {
  it("leaves a text that fits", () => {
    expect(cut("12345", 5)).toBe("12345");
  });

  it("says with … that something was cut", () => {
    expect(cut("123456", 5)).toBe("1234…");
  });

  it("cuts no character in two", () => {
    expect(cut("🎉🎉🎉🎉", 3)).toBe("🎉🎉…");
  });
});
