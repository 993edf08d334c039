import { describe, expect, it } from "vitest";
import { printable, printableJson } from "../../src/base/printable.ts";

describe("printable", () => {
  it("replaces characters that control the terminal", () => {
    expect(printable("\u001b[31mred\u0007\u009b2J")).toBe("�[31mred��2J");
  });

  it("replaces characters that change the direction of text", () => {
    expect(printable("a\u202eb\u2066c")).toBe("a�b�c");
  });

  it("puts a text of several lines on one line", () => {
    expect(printable("a\nb\tc\r")).toBe("a b c�");
  });

  it("leaves all other text as it is", () => {
    expect(printable("Zürich 東京 🎉 …")).toBe("Zürich 東京 🎉 …");
  });
});

describe("printableJson", () => {
  it("escapes characters that control the terminal, and loses nothing", () => {
    const value = { "a\u009b2J": "\u001b[31m \u202e \u007f 東京" };
    expect(printableJson(value)).toBe('{"a\\u009b2J":"\\u001b[31m \\u202e \\u007f 東京"}');
    expect(JSON.parse(printableJson(value))).toEqual(value);
  });
});
