import { describe, expect, it } from "vitest";
import { printable, printableJson } from "../../src/program/printable.ts";

describe("printable", () => {
  it("lets nothing through that would steer the terminal", () => {
    expect(printable("\u001b[31mred\u0007\u009b2J")).toBe("�[31mred��2J");
  });

  it("lets nothing through that would turn the direction of the line", () => {
    expect(printable("a\u202eb\u2066c")).toBe("a�b�c");
  });

  it("keeps a text of several lines on one", () => {
    expect(printable("a\nb\tc\r")).toBe("a b c�");
  });

  it("leaves every other text as it is", () => {
    expect(printable("Zürich 東京 🎉 …")).toBe("Zürich 東京 🎉 …");
  });
});

describe("printableJson", () => {
  it("lets nothing through that would steer the terminal, and loses nothing", () => {
    const value = { "a\u009b2J": "\u001b[31m \u202e \u007f 東京" };
    expect(printableJson(value)).toBe('{"a\\u009b2J":"\\u001b[31m \\u202e \\u007f 東京"}');
    expect(JSON.parse(printableJson(value))).toEqual(value);
  });
});
