import { describe, expect, it } from "vitest";
import { printableLines } from "../../src/program/printable-lines.ts";

describe("printableLines", () => {
  it("leaves lines and our colours, and replaces everything else that controls the terminal", () => {
    const ours = "\u001b[32m✔ ok\u001b[39m \u001b[1mname\u001b[22m\nnext";
    expect(printableLines(ours)).toBe(ours);
    expect(printableLines("\u001b[2J\u001b[8mhidden\u001b[0m\u001b]0;title\u0007\r\u009b31m\u202e")).toBe(
      "�[2J�[8mhidden�[0m�]0;title���31m�",
    );
  });
});
