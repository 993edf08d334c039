import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const reference = join(import.meta.dirname, "api");

/** Throws if the API reference shows a declaration, a member, a field or a parameter without a sentence. */
export function checkDocs(folder: string = reference): void {
  const silent = globSync("**/*.md", { cwd: folder })
    .sort()
    .flatMap((file) =>
      undescribed(readFileSync(join(folder, file), "utf8")).map(
        (name) => `${file.replace(/\.md$/, "")}: ${name}`,
      ),
    );
  if (silent.length > 0)
    throw new Error(
      `The API reference has no sentence for:\n${silent.join("\n")}\nDescribe each in a doc comment of the sources.`,
    );
}

interface Section {
  readonly title: string;
  readonly depth: number;
  /** Only the headings of declarations and members have an anchor. */
  readonly isNamed: boolean;
  /** The lines below the heading, up to the next one. */
  readonly lines: string[];
}

/** The names of what a page shows without a sentence. */
function undescribed(markdown: string): string[] {
  const sections = sectionsOf(markdown);
  let path: Section[] = [];
  return sections.flatMap((section, index) => {
    const { title, depth, isNamed, lines } = section;
    path = [...path.filter((outer) => outer.depth < depth), section];
    const name = path.flatMap((part) => (part.isNamed ? [part.title] : [])).join(".");
    const isOverloaded = sections[index + 1]?.title === "Call Signature";
    const isSignature = title === "Call Signature" || (isNamed && !isOverloaded);
    const isOfUnion = title === "Type Literal" && path.at(-2)?.title === "Union Members";
    const below = isOfUnion ? linesBelow(sections.slice(index), depth) : lines;
    return [
      ...((isSignature || isOfUnion) && !below.some(isSentence)
        ? [isOfUnion ? `${name} = ${lines[1]}` : name]
        : []),
      ...emptyRows(lines).map((row) => `${name} ${row}`),
    ];
  });
}

function sectionsOf(markdown: string): Section[] {
  const sections: Section[] = [];
  for (const line of markdown.split("\n")) {
    const [, marks, title = "", anchor] = /^(#+) (.*?)( \{#.*\})?$/.exec(line) ?? [];
    if (marks === undefined) sections.at(-1)?.lines.push(line);
    else sections.push({ title, depth: marks.length, isNamed: anchor !== undefined, lines: [] });
  }
  return sections;
}

/** The lines of the first section, and of those in it: a member of a union may be described by its fields. */
function linesBelow([first, ...rest]: readonly Section[], depth: number): readonly string[] {
  const end = rest.findIndex((section) => section.depth <= depth);
  return [
    ...(first?.lines ?? []),
    ...rest.slice(0, end < 0 ? rest.length : end).flatMap(({ lines }) => lines),
  ];
}

/** Not a signature, a type, a row of a table, the line between two declarations, or a mark such as Experimental. */
function isSentence(line: string): boolean {
  return line.trim() !== "" && !/^(>|\||\\\{|\*\*\*$|(\*\*)?`[^`]+`(\*\*)?$)/.test(line);
}

/** The first cells of the rows without a description. Parameters need one only if others of the same function have one. */
function emptyRows(lines: readonly string[]): string[] {
  const [header, , ...rows] = lines.filter((line) => line.startsWith("|")).map(cellsOf);
  const column = header?.indexOf("Description") ?? -1;
  if (column < 0 && header?.[0] !== "Property") return [];
  return rows
    .filter((cells) => /^-?$/.test(cells[column] ?? ""))
    .map(([name = ""]) => name.replace(/^<a .*<\/a> /, ""));
}

/** A `|` inside a cell is escaped. */
function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}
