/** A text as one word of a command to paste into a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Flags as they are written on a command line, each with a space before it: `--key-file k`. Those that are undefined are left out. */
export function flagsOf(flags: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(flags)
    .map(([name, value]) => (value === undefined ? "" : ` ${flagText(name)} ${shellWord(value)}`))
    .join("");
}

/** A flag as it is written: `--max-ratio`. */
export function flagText(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A command as the user would type it: by a script of npm, with npx, or installed. */
export function typedCommand(name: string, environment: NodeJS.ProcessEnv): string {
  const { npm_lifecycle_event: script, npm_package_name: project } = environment;
  if (script === name) return `npm run ${name} --`;
  if (project === "esim-webhooks") return `npm run -s esim-webhooks -- ${name}`; // a clone of this repository
  return script === "npx" ? `npx @esim-webhooks/cli ${name}` : `esim-webhooks ${name}`;
}
