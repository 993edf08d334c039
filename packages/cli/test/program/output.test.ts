import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOutput } from "../../src/program/context.ts";

function written() {
  const texts: string[] = [];
  const stream = {
    isTTY: true,
    write: (text: string) => texts.push(text),
  } as unknown as NodeJS.Process["stdout"] & NodeJS.Process["stderr"];
  return {
    output: createOutput({
      stdout: stream,
      stderr: stream,
      env: {},
      getBuiltinModule: process.getBuiltinModule,
    }),
    texts,
  };
}

describe("the output of a command", () => {
  it("has no character that controls the terminal, in anything that a command writes", () => {
    const { output, texts } = written();
    const hostile = "\u001b[2J\u009b31m\u202e\u0007";
    output.data(`data ${hostile}`);
    output.json({ hostile });
    output.note(`note ${hostile}`);
    output.log(`log ${hostile}`);
    expect(texts).toHaveLength(4);
    for (const text of texts) expect(text).not.toMatch(/(?!\n$)[\p{Cc}\u202e]/u);
    expect(JSON.parse(texts[1] ?? "")).toEqual({ hostile });
  });

  it("has no secret in a note, in anything that a command writes", () => {
    const { output, texts } = written();
    output.note("It is at postgres://me:hunter2@db/shop, with password=hunter2.");
    expect(texts).toEqual(["It is at postgres://me:•••@db/shop, with password=•••\n"]);
  });

  it("is the only way to the standard streams, but for the bar of an import, which moves the cursor", () => {
    const folder = join(import.meta.dirname, "../../src");
    const writing = globSync("**/*.ts", { cwd: folder }).filter((file) =>
      /\b(?:stdout|stderr)\.write\(|\bconsole\./.test(readFileSync(join(folder, file), "utf8")),
    );
    expect(writing.sort()).toEqual(["import/import-dump.ts", "program/context.ts"]);
  });
});
