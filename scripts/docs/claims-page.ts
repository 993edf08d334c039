import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./read-types.ts";

/** A text of a page, links apart, and the tests that show it. */
export interface Claim {
  /** From the repository's root. */
  readonly page: string;
  readonly text: string;
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

/** The claims in `test/claims.json`: page → claim → tests, each as `file > name`, which is how Vitest prints them. */
export function readClaims(): readonly Claim[] {
  const data: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = JSON.parse(
    readFileSync(join(root, "test/claims.json"), "utf8"),
  );
  return Object.entries(data).flatMap(([page, claims]) =>
    Object.entries(claims).map(([text, tests]) => ({ page, text, tests: tests.map(testOf) })),
  );
}

function testOf(path: string): Claim["tests"][number] {
  const end = path.indexOf(" > ");
  return { file: path.slice(0, end), name: path.slice(end + 3) };
}

/** docs/claims.md: a section for each page, a row for each claim. */
export function claimsPage(claims: readonly Claim[]): string {
  const sections = [...Map.groupBy(claims, ({ page }) => page)].map(([page, ofPage]) => {
    const rows = ofPage.map(({ text, tests }) => `| ${text} | ${tests.map(linkOf).join("<br>")} |`);
    const name = page.replace(/^docs\/|\.md$/g, "");
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", " ")}`;
    return `## ${title}\n\n[The page](${name}.md)\n\n| claim | tests |\n|---|---|\n${rows.join("\n")}\n`;
  });
  return `${head}\n${sections.join("\n")}`;
}

function linkOf({ file, name }: Claim["tests"][number]): string {
  const text = name.replace(/[|*_<>[\]{}]/g, (sign) => (sign === "<" ? "&lt;" : `\\${sign}`));
  return `[${text}](../${file})`;
}

const head = `# Claims and their tests

<!-- Made by npm run docs from test/claims.json: edit that. -->

Tests that show what the threat model, the status contract and the pages on stores and endpoints say.
`;
