// npm run lab -- fleets [part of the name of a scenario] [--seed N]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { failovers } from "./failovers.ts";
import { interruptions } from "./interruptions.ts";
import { makeNetwork } from "./namespaces.ts";
import { networks } from "./networks.ts";
import { runAll } from "./scenario.ts";

const scenarios = [...failovers, ...interruptions];

/** Runs the fleets, and prints a line for each. Returns whether every promise was kept. */
export async function runFleets(...args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { seed: { type: "string", default: "1" } },
  });
  const [part = ""] = positionals;
  const wanted = scenarios.filter(({ name }) => name.includes(part));
  const inNetwork = networks("").filter(({ name }) => name.includes(part));
  if (wanted.length + inNetwork.length === 0) {
    const names = [...scenarios, ...networks("")].map(({ name }) => name).join("; ");
    console.error(`Name a part of one of these scenarios: ${names}.`);
    return false;
  }
  const isKept = await runAll(wanted, values.seed);
  return (inNetwork.length === 0 || (await runInNetwork(values.seed, part))) && isKept;
}

/** Runs the scenarios of a network in namespaces. Returns true where there can be none. */
async function runInNetwork(seed: string, part: string): Promise<boolean> {
  const id = `${process.pid}`;
  const network = makeNetwork(id);
  if (network === undefined) {
    console.log(
      "network: not run, since this user or kernel makes no network namespaces. Run it as root on Linux, with ip, tc and nsenter.",
    );
    return true;
  }
  try {
    const program = join(import.meta.dirname, "network-process.ts");
    const node = [process.execPath, "--conditions=@esim-webhooks/source", program, id, seed, part];
    const [command = "", ...args] = [...network.prefix, ...node];
    const [code] = await once(spawn(command, args, { stdio: "inherit" }), "exit");
    return code === 0;
  } finally {
    network.remove();
  }
}
