import { faults } from "../../lab/faults/faults.ts";
import { mutations } from "../../lab/model/mutations.ts";
import { rotationRules } from "../../lab/model/rotation.ts";
import { between } from "./state-machine-page.ts";

/** The page, with its tables made from the faults and the mistakes in `lab`. */
export function reliabilityPage(page: string): string {
  const faultTable = [
    "| fault in the sources | noticed by |",
    "|---|---|",
    ...faults.map(({ name, checks }) => `| ${name} | ${checks.map((check) => `\`${check}\``).join(", ")} |`),
  ].join("\n");
  const mistakes = [
    ...mutations.map(({ mistake }) => mistake),
    ...Object.keys(rotationRules).map((rule) => `a rotation without the rule \`${rule}\``),
  ];
  const sentence = `The search finds a counterexample to each of these ${mistakes.length} mistakes in the rules: ${mistakes.join("; ")}.`;
  return between(between(page, "faults", faultTable), "mistakes", sentence);
}
