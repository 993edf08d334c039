import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commands } from "../packages/cli/src/commands.ts";
import { llmsFullText, llmsText } from "../scripts/docs/llms.ts";
import { released } from "../scripts/release/surfaces.ts";
import { root } from "./run.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("llms.txt", () => {
  const links = Array.from(llmsText().matchAll(/^- \[.+?\]\((.+?)\): \S.*[.]$/gm), ([, file = ""]) => file);

  it("is what npm run docs makes of the pages", () => {
    expect(read("llms.txt"), "run npm run docs").toBe(llmsText());
  });

  it("has every page for users once, and says what it is about", () => {
    const pages = globSync(
      "{README.md,docs/*.md,packages/{express,fastify}/README.md,packages/*/skills/*/SKILL.md}",
      {
        cwd: root,
        exclude: ["docs/claims.md"], // for maintainers
      },
    );
    expect(links.toSorted()).toEqual(pages.toSorted());
  });

  it("has its pages in llms-full.txt, whole and in the same order", () => {
    const full = llmsFullText();
    const begins = links.map((file) => full.indexOf(`<!-- ${file} -->\n`));
    expect(begins).toEqual(begins.toSorted((one, other) => one - other));
    expect(begins[0]).toBe(0);
    for (const file of links.filter((it) => !it.endsWith("SKILL.md")))
      expect(full).toContain(read(file).trim());
  });
});

describe("the skill", () => {
  const skill = read("packages/core/skills/esim-webhooks/SKILL.md");
  const blocks = Array.from(skill.matchAll(/```ts\n([\s\S]*?)```/g), ([, code = ""]) => code);

  /** What the compiler says of these modules, with the options that users are asked for. */
  function compile(modules: readonly string[]): string {
    const folder = join(root, "node_modules/.cache/skill");
    mkdirSync(folder, { recursive: true });
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [index, code] of modules.entries()) writeFileSync(join(folder, `block-${index}.ts`), code);
    const config = {
      extends: "../../../tsconfig.tests.json",
      compilerOptions: { incremental: false },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    try {
      return execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  it("has a name, and a description that says when to use it", () => {
    expect(skill).toMatch(/^---\nname: esim-webhooks\ndescription: .{50,500}Use it when .+\n---\n/);
  });

  it("has code that compiles, all of it, and code with a mistake would not", () => {
    expect(blocks.length).toBeGreaterThan(3);
    const misspelt = blocks[0]?.replace("esim.faulted", "esim.fautled") ?? "";
    const errors = compile([...blocks, misspelt])
      .split("\n")
      .filter((line) => line.includes(": error "));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.filter((line) => !line.includes(`block-${blocks.length}.ts`))).toEqual([]);
  });

  it("gives refusals with the status that they have", () => {
    const contract = released("status-contract");
    const rows = [...skill.matchAll(/^\| (\d{3}) (.*?) \|/gm)];
    const named = rows.flatMap(([, status, codes = ""]) =>
      Array.from(codes.matchAll(/`(\w+)`/g), ([, code]) => [`core: ${code}`, status]),
    );
    expect(named.length).toBeGreaterThan(6);
    for (const [code = "", status] of named) expect(contract[code], code).toBe(status);
  });

  it("names commands that exist", () => {
    const named = Array.from(skill.matchAll(/@esim-webhooks\/cli (\w+)/g), ([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named) expect(commands).toHaveProperty(name);
  });
});

it("AGENTS.md names files and npm scripts that exist", () => {
  const page = read("AGENTS.md");
  const { scripts } = JSON.parse(read("package.json"));
  for (const [, name = ""] of page.matchAll(/`npm run (\w+)`/g)) expect(scripts).toHaveProperty(name);
  const files = Array.from(
    page.matchAll(/`((?:docs|packages|test|examples)(?:\/[\w./-]+)?|llms\.txt)`/g),
    ([, file = ""]) => file,
  );
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) expect(existsSync(join(root, file)), file).toBe(true);
});
