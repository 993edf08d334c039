import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-classic";
import { root } from "./read-types.ts";

/** An error that a package may throw or answer with. */
export interface ErrorDoc {
  readonly code: string;
  readonly package: string;
  /** With `…` in place of what differs. */
  readonly problem: string;
  readonly remedy: string;
}

const classes: ReadonlySet<string> = new Set(["WebhookError", "ApiError", "ProgramError"]);

/** The errors of all packages, read from their sources: calls of the classes above, and tables of `{ code, problem, remedy }`. */
export function readErrors(): readonly ErrorDoc[] {
  const found = new Map<string, ErrorDoc>();
  for (const { of, source } of sources()) {
    const texts = textReader(source);
    const add = (
      codes: ts.Node | undefined,
      problems: ts.Node | undefined,
      remedies: ts.Node | undefined,
    ) => {
      for (const code of texts(codes)) {
        for (const [index, problem] of texts(problems).entries()) {
          const remedy = texts(remedies)[index] ?? texts(remedies)[0] ?? "";
          const doc = { code, package: of, problem: problem.trim(), remedy: remedy.trim() };
          if (/[a-z]{3}/.test(problem)) found.set(Object.values(doc).join("|"), doc);
        }
      }
    };
    const visit = (node: ts.Node): void => {
      if (ts.isNewExpression(node) && classes.has(node.expression.getText(source))) {
        const [code, problem, remedy] = node.arguments ?? [];
        add(code, problem, remedy);
      } else if (ts.isObjectLiteralExpression(node)) {
        add(propertyOf(node, "code"), propertyOf(node, "problem"), propertyOf(node, "remedy"));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...found.values()].sort((one, other) => one.code.localeCompare(other.code));
}

/** The members of every type whose name ends with `ErrorCode`, and what its doc comment, or theirs, says of them. */
export function readErrorCodes(): ReadonlyMap<string, string> {
  const codes = new Map<string, string>();
  for (const { source } of sources()) {
    source.forEachChild((node) => {
      if (!ts.isTypeAliasDeclaration(node) || !node.name.text.endsWith("ErrorCode")) return;
      const members = ts.isUnionTypeNode(node.type) ? node.type.types : [node.type];
      for (const member of members) {
        if (!ts.isLiteralTypeNode(member) || !ts.isStringLiteral(member.literal)) continue;
        const code = member.literal.text;
        codes.set(code, codes.get(code) || docLineOf(source, node, code) || docOf(source, member));
      }
    });
  }
  return codes;
}

/** What a list in the doc comment of a type has after the code: "- `conflict` (409), `key_reused` (422): …". */
function docLineOf(source: ts.SourceFile, node: ts.Node, code: string): string {
  const line = docOf(source, node)
    .split("\n")
    .find((text) => text.startsWith("- ") && text.split(": ", 1)[0]?.includes(`\`${code}\``));
  return line === undefined ? "" : line.slice(line.indexOf(": ") + 2);
}

/** The doc comment before a declaration, or before the `|` of a member. */
function docOf(source: ts.SourceFile, node: ts.Node): string {
  const before = source.text
    .slice(0, node.getStart(source))
    .replace(/\|?\s*$/, "")
    .trimEnd();
  if (!before.endsWith("*/")) return "";
  const comment = before.slice(before.lastIndexOf("/**"));
  return comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^ *\* ?/gm, "")
    .trim();
}

const begin = "<!-- errors: npm run docs -->";
const end = "<!-- end of errors -->";

/** The page with the errors of now. */
export function errorsPage(
  page: string,
  errors: readonly ErrorDoc[],
  codes: ReadonlyMap<string, string>,
): string {
  const byCode = Map.groupBy(errors, ({ code }) => code);
  const parts = [...codes].sort().map(([code, doc]) => {
    const rows = (byCode.get(code) ?? []).map(
      ({ package: of, problem, remedy }) =>
        `| ${cell(problem)} | ${cell(remedy || "The message says.")} | ${of} |`,
    );
    const table = rows.length > 0 ? [tableHead, ...rows].join("\n") : "";
    return [`## \`${code}\``, sentence(doc), table].filter((text) => text !== "").join("\n\n");
  });
  const [before = "", rest = ""] = page.split(begin);
  const [, after = ""] = rest.split(end);
  return `${before}${begin}\n\n${parts.join("\n\n")}\n\n${end}${after}`;
}

const tableHead = "| what is wrong | what to do | package |\n|---|---|---|";

function sentence(doc: string): string {
  const text = doc.charAt(0).toUpperCase() + doc.slice(1);
  return text === "" || text.endsWith(".") ? text : `${text}.`;
}

/** Text of a message that is not Markdown, in a cell of a table. */
function cell(text: string): string {
  return text
    .replace(/…+\.?(?=…|$)|…{2,}/g, "…")
    .replace(/[|\\`*_<>[\]{}]/g, (sign) => (sign === "<" ? "&lt;" : `\\${sign}`));
}

function sources(): readonly { readonly of: string; readonly source: ts.SourceFile }[] {
  const files = globSync("packages/*/src/**/*.ts", { cwd: root }).sort();
  return files.map((file) => ({
    of: file.split("/")[1] ?? "",
    source: ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true),
  }));
}

/** What an expression can be as text, with `…` where it has to be computed. Names of constants in the file are followed. */
function textReader(source: ts.SourceFile): (node: ts.Node | undefined) => readonly string[] {
  const constants = new Map<string, ts.Expression>();
  const collect = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    ts.forEachChild(node, collect);
  };
  collect(source);

  const read = (node: ts.Node | undefined): readonly string[] => {
    if (node === undefined) return [];
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return read(node.expression);
    if (ts.isConditionalExpression(node)) return [...read(node.whenTrue), ...read(node.whenFalse)];
    if (ts.isTemplateExpression(node))
      return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("")];
    if (ts.isBinaryExpression(node)) {
      const [left = "…"] = read(node.left);
      return node.operatorToken.kind === ts.SyntaxKind.PlusToken
        ? [left + (read(node.right)[0] ?? "…")]
        : [left];
    }
    const constant = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
    return constant === undefined || constant === node ? [] : read(constant);
  };
  return read;
}

function propertyOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = object.properties.find((it) => it.name !== undefined && it.name.getText() === name);
  return property !== undefined && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}
