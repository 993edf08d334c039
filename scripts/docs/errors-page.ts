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

const makers: ReadonlySet<string> = new Set(["WebhookError", "ApiError", "programError", "invalidUsage"]);

/**
 * The errors of all packages, read from their sources: calls of the makers above, and tables of `{ code, problem, remedy }`. What a
 * function passes on to one of them is read where the package calls the function.
 */
export function readErrors(): readonly ErrorDoc[] {
  const found = new Map<string, ErrorDoc>();
  const all = sources();
  const callsOf = Map.groupBy(all.flatMap(callsIn), ({ function: name }) => name);
  for (const { of, source } of all) {
    const texts = textReader(source);
    const add = (
      codes: readonly string[],
      problems: ts.Node | undefined,
      remedies: ts.Node | undefined,
      passed: Passed = new Map(),
    ) => {
      for (const code of codes) {
        const remediesOf = texts(remedies, passed);
        for (const [index, problem] of texts(problems, passed).entries()) {
          const remedy = remediesOf[index] ?? remediesOf[0] ?? "";
          const doc = { code, package: of, problem: problem.trim(), remedy: remedy.trim() };
          if (/[a-z]{3}/.test(problem)) found.set(Object.values(doc).join("|"), doc);
        }
      }
    };
    const visit = (node: ts.Node): void => {
      if (isMaking(node) && makers.has(node.expression.getText(source))) {
        const isUsage = node.expression.getText(source) === "invalidUsage";
        const [problem, remedy] = (node.arguments ?? []).slice(isUsage ? 0 : 1);
        const codeWith = (passed?: Passed) =>
          isUsage ? ["invalid_usage"] : texts(node.arguments?.[0], passed);
        const maker = makerAround(node);
        if (makers.has(maker?.name?.text ?? "")) return; // its calls are read
        const calls = maker === undefined ? [] : (callsOf.get(nameOf(of, maker)) ?? []);
        const own = calls.filter(
          (call) => call.declaredIn === source || (call.declaredIn === undefined && isExported(maker)),
        );
        if (own.length === 0) add(codeWith(), problem, remedy);
        for (const { passedTo } of own) {
          const passed = passedTo(maker?.parameters);
          add(codeWith(passed), problem, remedy, passed);
        }
      } else if (ts.isObjectLiteralExpression(node)) {
        add(texts(propertyOf(node, "code")), propertyOf(node, "problem"), propertyOf(node, "remedy"));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...found.values()].sort((one, other) => one.code.localeCompare(other.code));
}

type Making = ts.NewExpression | ts.CallExpression;

function isMaking(node: ts.Node): node is Making {
  return ts.isNewExpression(node) || ts.isCallExpression(node);
}

/** The texts that a call passes for the parameters of a function, by name. */
type Passed = ReadonlyMap<string, readonly string[]>;

type Parameters = ts.FunctionDeclaration["parameters"];

interface Call {
  /** As `nameOf` has it. */
  readonly function: string;
  /** Undefined: the function is imported. */
  readonly declaredIn: ts.SourceFile | undefined;
  passedTo(parameters: Parameters | undefined): Passed;
}

function nameOf(of: string, { name }: { readonly name?: ts.Identifier | undefined }): string {
  return `${of}: ${name?.text}`;
}

function isExported(maker: ts.FunctionDeclaration | undefined): boolean {
  return maker?.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function callsIn({ of, source }: Source): readonly Call[] {
  const texts = textReader(source);
  const declared = new Set(source.statements.filter(ts.isFunctionDeclaration).map(({ name }) => name?.text));
  const calls: Call[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const passedTo = (parameters: Parameters = ts.factory.createNodeArray()) =>
        new Map(parameters.map(({ name }, index) => [name.getText(), texts(node.arguments[index])]));
      const { expression: name } = node;
      const declaredIn = declared.has(name.text) ? source : undefined;
      calls.push({ function: nameOf(of, { name }), declaredIn, passedTo });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return calls;
}

/** The function that makes an error of what it gets: one of its parameters is in the error's texts. */
function makerAround(error: Making): ts.FunctionDeclaration | undefined {
  let node: ts.Node = error;
  while (!ts.isFunctionDeclaration(node)) {
    if (ts.isFunctionLike(node) || ts.isSourceFile(node)) return undefined;
    node = node.parent;
  }
  const names = node.parameters.map(({ name }) => name.getText());
  const isPassed = (text: ts.Node): boolean =>
    ts.isIdentifier(text)
      ? names.includes(text.text)
      : ts.isTemplateExpression(text) && text.templateSpans.some(({ expression }) => isPassed(expression));
  return error.arguments?.slice(0, 3).some(isPassed) ? node : undefined;
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

/** The text after the code, in a list of the doc comment of a type: "- `unreachable`, `connection_lost`: …". */
function docLineOf(source: ts.SourceFile, node: ts.Node, code: string): string {
  const line = docOf(source, node)
    .split(/\n(?=- )/)
    .map((text) => text.replaceAll(/\s+/g, " "))
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

/** docs/errors.md with a line for each code: what is wrong, and what to do. Each line has the code as its anchor. */
export function errorsPage(
  page: string,
  errors: readonly ErrorDoc[],
  codes: ReadonlyMap<string, string>,
): string {
  const byCode = Map.groupBy(errors, ({ code }) => code);
  const rows = [...codes].sort().map(([code, doc]) => {
    const [first] = byCode.get(code) ?? [];
    const [, problem = doc, remedy] = /^(.*?[^.][.])\s+(?=[A-Z])(.*)$/s.exec(doc) ?? [];
    const texts = [
      problem === "" ? cell(first?.problem ?? "") : sentence(problem),
      remedy === undefined ? cell(first?.remedy ?? "") : sentence(remedy),
    ];
    return `| <a id="${code}"></a>\`${code}\` | ${texts.join(" | ")} |`;
  });
  const [before = "", rest = ""] = page.split(begin);
  const [, after = ""] = rest.split(end);
  return `${before}${begin}\n\n| code | what is wrong | what to do |\n|---|---|---|\n${rows.join("\n")}\n\n${end}${after}`;
}

/** A page of the site, for its search: every message that has the code. */
export function everyMessage(errors: readonly ErrorDoc[], codes: ReadonlyMap<string, string>): string {
  const byCode = Map.groupBy(errors, ({ code }) => code);
  const parts = [...codes].sort().flatMap(([code]) => {
    const rows = (byCode.get(code) ?? []).map(
      ({ package: of, problem, remedy }) =>
        `| ${cell(problem)} | ${cell(/[a-z]/i.test(remedy) ? remedy : "The message says.")} | ${of} |`,
    );
    return rows.length > 0 ? [`## \`${code}\`\n\n${tableHead}\n${rows.join("\n")}\n`] : [];
  });
  return `# Every message of an error\n\nBy [code](../../docs/errors.md). \`…\` is what differs.\n\n${parts.join("\n")}`;
}

const tableHead = "| what is wrong | what to do | package |\n|---|---|---|";

/** A doc comment's text on one line, as a sentence. */
function sentence(doc: string): string {
  const text = (doc.charAt(0).toUpperCase() + doc.slice(1)).replaceAll(/\s+/g, " ");
  return text.endsWith(".") ? text : `${text}.`;
}

/** Text of a message that is not Markdown, in a cell of a table. */
function cell(text: string): string {
  return text
    .replace(/…(?:\.?…)+/g, "…")
    .replace(/…\.$/, "…")
    .replace(/[|\\`*_<>[\]{}]/g, (sign) => (sign === "<" ? "&lt;" : `\\${sign}`));
}

interface Source {
  /** The package. */
  readonly of: string;
  readonly source: ts.SourceFile;
}

function sources(): readonly Source[] {
  const files = globSync("packages/*/src/**/*.ts", { cwd: root }).sort();
  return files.map((file) => ({
    of: file.split("/")[1] ?? "",
    source: ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true),
  }));
}

/** Reads the texts that an expression can have, with `…` where it has to be computed. Follows names of constants in the file. */
function textReader(
  source: ts.SourceFile,
): (node: ts.Node | undefined, passed?: Passed) => readonly string[] {
  const constants = new Map<string, ts.Expression>();
  const collect = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    ts.forEachChild(node, collect);
  };
  collect(source);

  const read = (node: ts.Node | undefined, passed: Passed = new Map()): readonly string[] => {
    if (node === undefined) return [];
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return read(node.expression, passed);
    if (ts.isConditionalExpression(node))
      return [...read(node.whenTrue, passed), ...read(node.whenFalse, passed)];
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce<readonly string[]>(
        (texts, { expression, literal }) => {
          const filled = passed.get(expression.getText()) ?? [];
          return texts.flatMap((text) =>
            (filled.length > 0 ? filled : ["…"]).map((fill) => text + fill + literal.text),
          );
        },
        [node.head.text],
      );
    if (ts.isBinaryExpression(node)) {
      const [left = "…"] = read(node.left, passed);
      return node.operatorToken.kind === ts.SyntaxKind.PlusToken
        ? [left + (read(node.right, passed)[0] ?? "…")]
        : [left];
    }
    const given = ts.isIdentifier(node) ? passed.get(node.text) : undefined;
    if (given !== undefined) return given;
    const constant = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
    return constant === undefined || constant === node ? [] : read(constant);
  };
  return read;
}

function propertyOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = object.properties.find((it) => it.name !== undefined && it.name.getText() === name);
  return property !== undefined && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}
