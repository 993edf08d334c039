import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../run.ts";

/** The questions of an editor to TypeScript about the open file: `user.ts` of a project. */
export interface Editor {
  /** The names offered where the source has `▮`. */
  complete(source: string): Promise<string[]>;
  /** The descriptions shown at each `▮` of the source, at the start of a name. */
  describe(source: string): Promise<string[]>;
  /** The errors in the source. */
  problems(source: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Opens `user.ts`, which need not exist, in a folder with a `tsconfig.json`. */
export type OpenEditor = (folder: string) => Promise<Editor>;

/** The source without its `▮`, and where they were. */
export function atCursors(source: string): { readonly text: string; readonly positions: readonly number[] } {
  const parts = source.split("▮");
  if (parts.length === 1) throw new Error("The source has no ▮.");
  const positions = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("").length);
  return { text: parts.join(""), positions };
}

/** A user's project in strict TypeScript, on the sources of the packages. */
export function userProject(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-user-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2024",
    types: ["node"],
    customConditions: ["@esim-webhooks/source"],
    allowImportingTsExtensions: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
