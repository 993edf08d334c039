/** A command's help: a line for the list of commands, a description, examples. */
export function help(
  brief: string,
  description: string,
  examples: readonly string[],
): { brief: string; fullDescription: string } {
  const lines = examples.map((example) => `  ${example}`);
  return { brief, fullDescription: [description, "", "EXAMPLES", ...lines].join("\n") };
}
