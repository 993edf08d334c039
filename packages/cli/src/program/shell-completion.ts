import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { invalidUsage } from "./program-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The file in which a shell finds completions, and the lines by which it asks the program for them. */
interface ShellCompletion {
  file(env: Environment, home: string): string;
  readonly lines: readonly string[];
}

const shells: Readonly<Record<string, ShellCompletion>> = {
  bash: {
    file: (_env, home) => join(home, ".bashrc"),
    lines: [
      "__esim_webhooks_complete() { export COMP_LINE; COMPREPLY=( $(esim-webhooks __complete $COMP_LINE) ); return 0; }",
      "complete -o default -o nospace -F __esim_webhooks_complete esim-webhooks",
    ],
  },
  zsh: {
    file: (env, home) => join(env["ZDOTDIR"] || home, ".zshrc"),
    lines: [
      "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: zsh expands it
      '_esim_webhooks() { compadd -- ${(f)"$(COMP_LINE="${(j: :)words[1,CURRENT]}" esim-webhooks __complete ${words[1,CURRENT]})"} }',
      "compdef _esim_webhooks esim-webhooks",
    ],
  },
  fish: {
    file: (env, home) =>
      join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "fish/completions/esim-webhooks.fish"),
    lines: [
      "complete -c esim-webhooks -f -a '(esim-webhooks __complete (commandline -opc) (commandline -ct))'",
    ],
  },
};

const begin = "# esim-webhooks completion";
const end = "# end of esim-webhooks completion";

/** Adds the completion to the file of the user's shell, or replaces it there. Returns the file. Throws `invalid_usage`. */
export async function installCompletion(env: Environment): Promise<string> {
  const { file, lines } = completionOf(env);
  await mkdir(dirname(file), { recursive: true }).catch(unusable(file));
  await change(file, (others) => [...others, begin, ...lines, end, ""]);
  return file;
}

/** Removes the completion from the file of the user's shell. Returns the file. Throws `invalid_usage`. */
export async function uninstallCompletion(env: Environment): Promise<string> {
  const { file } = completionOf(env);
  await change(file, (others) => [...others, ""]);
  return file;
}

function completionOf(env: Environment): { readonly file: string; readonly lines: readonly string[] } {
  const shell = basename(env["SHELL"] ?? "");
  const found = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (found === undefined) {
    throw invalidUsage(
      shell === "" ? "SHELL is not set, so your shell is not known." : `There is no completion for ${shell}.`,
      `Set SHELL to one of: ${Object.keys(shells).join(", ")}.`,
    );
  }
  return { file: found.file(env, env["HOME"] || homedir()), lines: found.lines };
}

/** Rewrites a file, which may be missing, from its lines without the completion. */
async function change(
  file: string,
  linesOf: (others: readonly string[]) => readonly string[],
): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? "" : unusable(file)(error),
  );
  const lines = text.replace(/\n$/, "").split("\n");
  const [first, last] = [lines.indexOf(begin), lines.indexOf(end)];
  const others = first === -1 || last < first ? lines : lines.toSpliced(first, last - first + 1);
  const changed = linesOf(others.length === 1 && others[0] === "" ? [] : others).join("\n");
  if (changed !== text) await writeFile(file, changed).catch(unusable(file));
}

const unusable = (file: string) => (cause: NodeJS.ErrnoException) => {
  throw invalidUsage(
    `The file of your shell, ${file}, cannot be changed (${cause.code}).`,
    "Make it a file that you may write, or set SHELL to another shell.",
    { cause },
  );
};
