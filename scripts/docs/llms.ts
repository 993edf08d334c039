import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Page, root, type Section, sections } from "../../site/pages.ts";

const first: readonly Page[] = [
  {
    file: "README.md",
    url: "",
    title: "esim-webhooks",
    lead: "see what it does, and receive a first event.",
  },
  {
    file: "packages/core/skills/esim-webhooks/SKILL.md",
    url: "",
    title: "Receive eSIM webhooks",
    lead: "follow the rules for code that mounts a receiver and has handlers.",
  },
];

/** Pages that answer no question of a user. */
const omitted: ReadonlySet<string> = new Set(["bench/README.md", "docs/claims.md"]);

/** The sections of the site, without the figures, the tests of claims, and the packages' own pages, which repeat the others. */
const parts: readonly Section[] = [
  { title: "First", pages: first },
  ...sections
    .filter(({ title }) => title !== "Reference: packages")
    .map(({ title, pages }) => ({
      title,
      pages: pages.filter(({ file }) => !omitted.has(file)),
    })),
];

/** llms.txt: every page by task, with what it is for. `urlOf` says where a file of the repository is. */
export function llmsText(urlOf: (file: string) => string = (file) => file): string {
  const texts = parts.map(({ title, pages }) => {
    const links = pages.map((page) => `- [${page.title}](${urlOf(page.file)}): ${sentence(page.lead)}`);
    return `## ${title}\n\n${links.join("\n")}\n`;
  });
  return `# esim-webhooks\n\n> ${promise}\n\n${texts.join("\n")}`;
}

/** llms-full.txt: the text of the same pages, in the same order. */
export function llmsFullText(): string {
  return parts
    .flatMap(({ pages }) => pages)
    .map(({ file }) => `<!-- ${file} -->\n\n${textOf(file)}\n`)
    .join("\n");
}

const promise =
  "A webhook receiver for the eSIM partner API, in TypeScript, for Express, Fastify, NestJS, Next.js, Hono and plain Node.js. " +
  "No authentic event is lost, no delivery takes effect twice (effects use a key of the event, which may have several ids), " +
  "nothing forged gets in, and a wrong set-up says how to fix it.";

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8")
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .trim();
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
