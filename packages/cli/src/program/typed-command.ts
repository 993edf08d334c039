/** A command as the user would type it: by a script of npm, with npx, or installed. */
export function typedCommand(name: string, environment: NodeJS.ProcessEnv): string {
  const { npm_lifecycle_event: script, npm_package_name: project } = environment;
  if (script === name) return `npm run ${name} --`;
  if (project === "esim-webhooks") return `npm run -s esim-webhooks -- ${name}`; // a clone of this repository
  return script === "npx" ? `npx @esim-webhooks/cli ${name}` : `esim-webhooks ${name}`;
}
