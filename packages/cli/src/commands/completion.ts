import type { Command, CommandFunction, RouteMap } from "@stricli/core";
import { command, group, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";

type NoFlags = Readonly<Record<never, never>>;
type Action = CommandFunction<NoFlags, [], CliContext>;

const install: Command<CliContext> = command<NoFlags, []>({
  loader: async () => {
    const { buildInstallCommand } = await import("@stricli/auto-complete");
    const command = buildInstallCommand<CliContext>("esim-webhooks", { bash: "esim-webhooks __complete" });
    return (await command.loader()) as Action;
  },
  parameters: {},
  docs: help("Complete commands in bash", "Adds a few lines to ~/.bashrc.", [
    "esim-webhooks completion install",
  ]),
});

const uninstall: Command<CliContext> = command<NoFlags, []>({
  loader: async () => {
    const { buildUninstallCommand } = await import("@stricli/auto-complete");
    const command = buildUninstallCommand<CliContext>("esim-webhooks", { bash: true });
    return (await command.loader()) as Action;
  },
  parameters: {},
  docs: help("Remove the completion", "Removes those lines from ~/.bashrc.", [
    "esim-webhooks completion uninstall",
  ]),
});

export const completion: RouteMap<CliContext> = group<"install" | "uninstall">({
  routes: { install, uninstall },
  docs: help("Complete commands in the shell", "Completion of commands and flags in bash.", [
    "esim-webhooks completion install",
  ]),
});
