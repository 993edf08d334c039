import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ProgramError } from "../program/program-error.ts";

/** The error for a config file that cannot be loaded: why, at which line of which file, and how to mend it. */
export function loadError(file: string, cause: unknown): ProgramError {
  const message = (cause instanceof Error ? cause.message : String(cause)).trim().replace(/\.?$/, ".");
  const at = lineOf(file, cause);
  const problem = `${file} cannot be loaded: ${message}${at === undefined ? "" : ` (${at})`}`;
  return new ProgramError("invalid_config", problem, remedyFor(message), { cause });
}

/** The file and the line, such as `/srv/app/handlers.ts:12`, if they are known. */
function lineOf(file: string, cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const named = placeIn(cause.stack ?? "");
  if (named !== undefined || !(cause instanceof SyntaxError)) return named;
  // Node.js says where a syntax error in JavaScript is only when it ends a process
  return placeIn(spawnSync(process.execPath, ["--check", file], { encoding: "utf8" }).stderr);
}

/** The first place that a stack names: in its first line, as for syntax errors, or in a call. */
function placeIn(stack: string): string | undefined {
  const [, url, urlLine] = /(file:\/\/\S+?):(\d+)/.exec(stack) ?? [];
  const [, path, line] = /^((?:\/|[A-Za-z]:\\).*):(\d+)$/m.exec(stack) ?? [];
  if (path !== undefined) return `${path}:${line}`;
  return url === undefined ? undefined : `${fileURLToPath(url)}:${urlLine}`;
}

function remedyFor(message: string): string {
  if (/Unexpected token 'export'|import statement outside|Unknown file extension/.test(message)) {
    return 'Name it .mts or .mjs, or set "type": "module" in package.json.';
  }
  if (/Cannot find (?:package|module)/.test(message))
    return "Install what it imports, or correct the import.";
  return "Correct the file.";
}
