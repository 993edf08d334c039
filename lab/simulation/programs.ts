import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";

/** The packages as one process has loaded them: with variables of its own, also those of modules. */
export interface Program {
  readonly core: typeof import("@esim-webhooks/core");
  readonly keyState: typeof import("@esim-webhooks/core/key-state");
  readonly client: typeof import("@esim-webhooks/client");
  readonly endpoint: typeof import("@esim-webhooks/endpoint");
  readonly sqlite: typeof import("@esim-webhooks/store-sqlite");
}

const packages = new URL("../../packages/", import.meta.url).href;
const sources = new Map<string, string>();
/** By the importing file and what it imports: to look for packages takes longer than all else. */
const resolutions = new Map<string, { readonly url: string; readonly format?: string | null | undefined }>();

/** A module that a process imports belongs to it, with all that it imports of the packages: their URLs end in its number. */
export function installPrograms(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const [file = "", query] = context.parentURL?.split("?") ?? [];
      if (query === undefined || !file.startsWith(packages)) return next(specifier, context);
      const name = `${specifier} ${file}`;
      const { url, format } = resolutions.get(name) ?? next(specifier, { ...context, parentURL: file });
      resolutions.set(name, { url, format });
      return { url: url.startsWith(packages) ? `${url}?${query}` : url, format, shortCircuit: true };
    },
    load(url, context, next) {
      const [file = "", query] = url.split("?");
      if (query === undefined || !file.startsWith(packages)) return next(url, context);
      let source = sources.get(file);
      if (source === undefined) {
        source = stripTypeScriptTypes(readFileSync(fileURLToPath(file), "utf8"));
        sources.set(file, source);
      }
      return { format: "module", source, shortCircuit: true };
    },
  });
}

/** Loads a fresh copy of the packages, for the process of this number. */
export async function loadProgram(number: number): Promise<Program> {
  const load = (path: string) => import(`${packages}${path}?process=${number}`);
  return {
    core: await load("core/src/index.ts"),
    keyState: await load("core/src/store/state-keys.ts"),
    client: await load("client/src/index.ts"),
    endpoint: await load("endpoint/src/index.ts"),
    sqlite: await load("store-sqlite/src/index.ts"),
  };
}

/** The number of the process that has loaded this module. */
export function processNumberOf(url: URL): number {
  return Number(url.searchParams.get("process"));
}
