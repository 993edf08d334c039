import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./read-types.ts";
import { between } from "./state-machine-page.ts";

const source = (file: string) => readFileSync(join(root, "packages/sandbox/src/base", file), "utf8");

/** The page, with its tables of switches and of faults made from the schemas and their doc comments. */
export function sandboxPage(page: string): string {
  const faults = source("fault.ts");
  const [onCalls = "", onDeliveries = ""] = ["callFaults", "deliveryFaults"].map((list) =>
    faultTable(new RegExp(String.raw`const ${list} = \[([\s\S]*?)\] as const`).exec(faults)?.[1] ?? ""),
  );
  const withSwitches = between(page, "switches", switchTable(source("switches.ts")));
  return between(between(withSwitches, "faults of calls", onCalls), "faults of deliveries", onDeliveries);
}

function switchTable(text: string): string {
  const member =
    /\/\*\* (.*?) \*\/\n {2}(\w+): (?:z\.enum\(\[(.*?)\]\)|wholeNumber\(\d+\))\.default\((.*?)\)/g;
  const rows = Array.from(text.matchAll(member), ([, doc, name, values, value = ""]) => {
    const shown = values?.replaceAll('"', "`") ?? `\`${value.replaceAll("_", "")}\`, any number`;
    return `| \`${name}\` | ${shown} | ${doc} |`;
  });
  return ["| switch | values | |", "|---|---|---|", ...rows].join("\n");
}

function faultTable(text: string): string {
  const rows = text
    .split("z.strictObject(")
    .slice(1)
    .map((fault) => {
      const docs = Array.from(fault.matchAll(/\/\*\* (.*?) \*\/\n\s*(\w+)/g), ([, doc = "", name = ""]) => ({
        doc,
        name,
      }));
      const fields = docs.slice(1).map(({ doc, name }) => `\`${name}\`: ${doc}`);
      const kind = /kind: z\.literal\("(\w+)"\)/.exec(fault)?.[1];
      return `| \`${kind}\` | ${docs[0]?.doc} | ${fields.join(" ")} |`;
    });
  return ["| kind | | further fields |", "|---|---|---|", ...rows].join("\n");
}
