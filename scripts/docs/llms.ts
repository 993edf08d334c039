import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./read-types.ts";

interface Page {
  readonly file: string;
  readonly title: string;
  /** The first sentence of its text. */
  readonly about: string;
  readonly text: string;
}

/** The pages that a user needs, by task. Those that are named nowhere come under "More". */
const sections: Readonly<Record<string, readonly string[]>> = {
  Start: ["README.md", "docs/sandbox.md", "packages/core/skills/esim-webhooks/SKILL.md"],
  Receive: [
    "packages/core/README.md",
    "packages/express/README.md",
    "packages/fastify/README.md",
    "packages/nest/README.md",
    "docs/status-contract.md",
    "docs/capture.md",
  ],
  Handle: ["docs/events.md", "docs/spec.md", "docs/client.md", "docs/testing.md"],
  "Store and work": ["docs/stores.md", "docs/state-machine.md", "docs/sizing.md"],
  Recover: ["docs/reconcile.md", "docs/import.md", "docs/runbook.md"],
  Operate: [
    "docs/endpoint.md",
    "docs/rotation.md",
    "docs/observing.md",
    "docs/operations.md",
    "docs/dashboard.md",
    "docs/upgrading.md",
    "docs/personal-data.md",
  ],
  Reference: ["docs/options.md", "packages/cli/README.md", "docs/compatibility.md", "docs/threat-model.md"],
};

/** llms.txt: every page by task, with what it is about. */
export function llmsText(): string {
  const pages = new Map(readPages().map((page) => [page.file, page]));
  const lines = Object.entries(bySection([...pages.keys()])).map(([title, files]) => {
    const links = files.map((file) => pages.get(file)).filter((page) => page !== undefined);
    return `## ${title}\n\n${links.map(({ file, title, about }) => `- [${title}](${file}): ${about}`).join("\n")}\n`;
  });
  return `# esim-webhooks\n\n> ${promise}\n\n${lines.join("\n")}`;
}

/** llms-full.txt: the text of the same pages, in the same order. */
export function llmsFullText(): string {
  const pages = new Map(readPages().map((page) => [page.file, page.text]));
  return Object.values(bySection([...pages.keys()]))
    .flat()
    .map((file) => `<!-- ${file} -->\n\n${pages.get(file)?.trim()}\n`)
    .join("\n");
}

const promise =
  "A webhook receiver for the eSIM partner API, in TypeScript, for Express, Fastify, NestJS, Next.js, Hono and plain Node.js. " +
  "No authentic event is lost, none takes effect twice, nothing forged gets in, and a wrong set-up says how to fix it.";

function bySection(files: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const named = Object.values(sections).flat();
  return { ...sections, More: files.filter((file) => !named.includes(file)) };
}

function readPages(): readonly Page[] {
  return globSync("{README.md,docs/*.md,packages/*/README.md,packages/*/skills/*/SKILL.md}", { cwd: root })
    .sort()
    .map((file) => {
      const text = readFileSync(join(root, file), "utf8").replace(/^---\n[\s\S]*?\n---\n/, "");
      const [, title = file] = /^# (.*)$/m.exec(text) ?? [];
      const paragraphs = text.replaceAll(/```[\s\S]*?```|<!--[\s\S]*?-->/g, "").split(/\n{2,}/);
      const first = paragraphs.find((it) => /^[A-Z`*]/.test(it.trim())) ?? "";
      return { file, title, about: sentenceOf(first), text };
    });
}

/** The first sentence, without its links. */
function sentenceOf(paragraph: string): string {
  const text = paragraph
    .trim()
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, ".") ?? text;
}
