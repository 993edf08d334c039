import type { Command, RouteMap } from "@stricli/core";
import { command, group, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";

type NoFlags = Readonly<Record<never, never>>;

const where = "~/.bashrc, ~/.zshrc or fish's completions, as SHELL says";

const install: Command<CliContext> = command<NoFlags, []>({
  loader: async () => {
    const { installCompletion } = await import("../program/shell-completion.ts");
    return async function install(this: CliContext) {
      const file = await installCompletion(this.process.env);
      this.output.note(`Commands and flags are completed by ${file}. Start a new shell to use it.`);
    };
  },
  parameters: {},
  docs: help("Complete commands in your shell", `Adds a few lines to ${where}.`, [
    "esim-webhooks completion install",
  ]),
});

const uninstall: Command<CliContext> = command<NoFlags, []>({
  loader: async () => {
    const { uninstallCompletion } = await import("../program/shell-completion.ts");
    return async function uninstall(this: CliContext) {
      const file = await uninstallCompletion(this.process.env);
      this.output.note(`${file} has no completion of esim-webhooks now.`);
    };
  },
  parameters: {},
  docs: help("Remove the completion", `Removes those lines from ${where}.`, [
    "esim-webhooks completion uninstall",
  ]),
});

export const completion: RouteMap<CliContext> = group<"install" | "uninstall">({
  routes: { install, uninstall },
  docs: help("Complete commands in the shell", "Completion of commands and flags in bash, zsh and fish.", [
    "esim-webhooks completion install",
  ]),
});
