import type { CrashSuiteOptions } from "@esim-webhooks/conformance";

/** The options that all crash suites pass: their processes run on the sources. `npm run lab -- crashes` sets the number of kills. */
export const crashes: Required<Pick<CrashSuiteOptions, "execArgv" | "kills">> = {
  execArgv: ["--conditions=@esim-webhooks/source"],
  kills: Number(process.env["KILLS"] ?? 3),
};
