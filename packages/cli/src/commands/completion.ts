import { command, group, help } from "../flags/command.ts";
import type { CliContext } from "../program/context.ts";

const where = "~/.bashrc, ~/.zshrc or fish's completions, as SHELL says";

const install = command({
  load: async () => {
    const { installCompletion } = await import("../program/shell-completion.ts");
    return async function install(this: CliContext) {
      const file = await installCompletion(this.process.env);
      this.output.note(`Commands and flags are completed by ${file}. Start a new shell to use it.`);
    };
  },
  docs: help("Complete commands in your shell", `Adds a few lines to ${where}.`, [
    "esim-webhooks completion install",
  ]),
});

const uninstall = command({
  load: async () => {
    const { uninstallCompletion } = await import("../program/shell-completion.ts");
    return async function uninstall(this: CliContext) {
      const file = await uninstallCompletion(this.process.env);
      this.output.note(`${file} has no completion of esim-webhooks now.`);
    };
  },
  docs: help("Remove the completion", `Removes those lines from ${where}.`, [
    "esim-webhooks completion uninstall",
  ]),
});

export const completion = group({
  routes: { install, uninstall },
  docs: help("Complete commands in the shell", "Completion of commands and flags in bash, zsh and fish.", [
    "esim-webhooks completion install",
  ]),
});
