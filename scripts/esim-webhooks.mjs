// Runs the command line from its sources, in the folder where npm was called: paths and the config file are looked for there.
import process from "node:process";

process.chdir(process.env["INIT_CWD"] ?? process.cwd());
await import("../packages/cli/src/main.ts");
