import { globSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-classic";
import { root } from "./read-types.ts";

/** A line that a package may log. */
export interface LogLine {
  readonly package: string;
  /** Or what decides it. */
  readonly level: string;
  /** With `…` in place of what differs. */
  readonly message: string;
  readonly fields: readonly string[];
}

const levels: ReadonlySet<string> = new Set(["debug", "info", "warn", "error"]);

/** Functions that log a message which they are given. */
const indirect: Readonly<
  Record<string, { readonly level: string; readonly message: number; readonly fields: readonly string[] }>
> = {
  warnOfSetup: { level: "error", message: 2, fields: ["code", "err"] },
  createTypeWarning: { level: "warn", message: 1, fields: ["source", "type"] },
};

/** The line whose level is made of its outcome. */
const deliveryLine: LogLine = {
  package: "core",
  level: "by its outcome",
  message: "webhook delivery",
  fields: [
    "source",
    "id",
    "type",
    "key",
    "outcome",
    "durationMs",
    "late",
    "alike",
    "sinceMs",
    "trace_id",
    "span_id",
    "reason",
    "issues",
    "skew",
    "conflict",
    "err",
  ],
};

/** The line of each settlement, whose level is made of its outcome, too. */
const eventLine: LogLine = {
  package: "core",
  level: "by its outcome",
  message: "webhook event",
  fields: [
    "source",
    "id",
    "type",
    "attempt",
    "outcome",
    "reason",
    "cause",
    "remedy",
    "afterMs",
    "durationMs",
    "waitMs",
    "trace_id",
    "span_id",
    "err",
  ],
};

/** The texts of log lines whose whole text is in a variable. */
const inWords: Readonly<Record<string, string>> = {
  "error.message":
    "The sentences of an error in the set-up, as its `code` has them: what is wrong, and how to fix it.",
  "`${problem} ${remedy}`":
    "What is wrong, and how to fix it: of a probe's `check` that fails, or of a trouble that begins. docs/observing.md has the codes.",
  "outcome.hint":
    "The body of a delivery was read before the receiver could verify it. The line says how to mount the receiver before a body parser.",
  problem:
    "A crash of the Postgres server can lose what it has acknowledged: fsync is off, or tables are unlogged. The line says which, and how to change it.",
};

/** Files whose functions only pass lines on. */
const passOn: readonly string[] = [
  "core/src/base/logger.ts",
  "core/src/base/options.ts",
  "cli/src/log/command-logger.ts",
];

/** The lines of all packages, read from their sources. */
export function readLogLines(): readonly LogLine[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.tests.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const files = globSync("packages/*/src/**/*.ts", {
    cwd: root,
  });
  const program = ts.createProgram(
    files.map((file) => join(root, file)),
    options,
  );
  const checker = program.getTypeChecker();
  const lines = new Map<string, LogLine>();

  function visit(node: ts.Node, of: string): void {
    if (ts.isCallExpression(node)) addCall(node, of);
    ts.forEachChild(node, (child) => visit(child, of));
  }

  function addCall(call: ts.CallExpression, of: string): void {
    const callee = call.expression;
    const name = ts.isIdentifier(callee) ? callee.text : "";
    const known = Object.hasOwn(indirect, name) ? indirect[name] : undefined;
    if (known !== undefined) {
      if (call.arguments[0]?.getText() === "silentLogger") return; // only ever a process warning
      const code = name === "warnOfSetup" ? call.arguments[1] : undefined;
      const isNamed = code !== undefined && ts.isStringLiteral(code);
      const fields = isNamed ? known.fields.with(0, `code: "${code.text}"`) : known.fields;
      add(of, known.level, call.arguments[known.message], fields);
      return;
    }
    const level = levelOf(callee);
    if (level !== undefined) add(of, level, call.arguments[1], fieldsOf(call.arguments[0]));
  }

  /** The level if the function is a logger's, or throttles one. */
  function levelOf(callee: ts.Expression): string | undefined {
    if (ts.isPropertyAccessExpression(callee) && levels.has(callee.name.text))
      return isLogger(callee.expression) ? callee.name.text : undefined;
    const made = ts.isIdentifier(callee) ? initializerOf(callee) : undefined;
    const isThrottled =
      made !== undefined && ts.isCallExpression(made) && made.expression.getText() === "throttledLog";
    return isThrottled ? /\.(debug|info|warn|error)\b/.exec(made.getText())?.[1] : undefined;
  }

  function isLogger(expression: ts.Expression): boolean {
    const type = checker.getTypeAtLocation(expression);
    return ["debug", "info", "warn", "error"].every((level) => type.getProperty(level) !== undefined);
  }

  function initializerOf(name: ts.Identifier): ts.Expression | undefined {
    const symbol = checker.getSymbolAtLocation(name);
    const aliased =
      symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0
        ? checker.getAliasedSymbol(symbol)
        : symbol;
    const declaration = aliased?.valueDeclaration;
    return declaration !== undefined && ts.isVariableDeclaration(declaration)
      ? declaration.initializer
      : undefined;
  }

  function add(
    of: string,
    level: string,
    message: ts.Expression | undefined,
    fields: readonly string[],
  ): void {
    if (message === undefined) return;
    for (const found of textsOf(message)) {
      const text = /^[… ]+$/.test(found) ? (inWords[message.getText()] ?? found) : found;
      const key = `${of} ${level} ${text}`;
      const earlier = lines.get(key)?.fields ?? [];
      lines.set(key, {
        package: of,
        level,
        message: text,
        fields: [...new Set([...earlier, ...fields])].sort(),
      });
    }
  }

  /** Returns the arguments that calls in the same file pass for a parameter. Undefined: it is not one. */
  function passedTo(expression: ts.Expression): readonly ts.Expression[] | undefined {
    const symbol = ts.isIdentifier(expression) ? checker.getSymbolAtLocation(expression) : undefined;
    const declaration = symbol?.valueDeclaration;
    if (declaration === undefined || !ts.isParameter(declaration)) return undefined;
    const { parent } = declaration;
    const index = parent.parameters.indexOf(declaration);
    const named = ts.isVariableDeclaration(parent.parent) ? parent.parent.name : parent.name;
    const passed: ts.Expression[] = [];
    const find = (node: ts.Node): void => {
      const argument =
        ts.isCallExpression(node) && node.expression.getText() === named?.getText() && node.arguments[index];
      if (argument) passed.push(argument);
      ts.forEachChild(node, find);
    };
    find(declaration.getSourceFile());
    return passed;
  }

  function textsOf(expression: ts.Expression): readonly string[] {
    if (ts.isStringLiteralLike(expression)) return [expression.text];
    if (ts.isParenthesizedExpression(expression)) return textsOf(expression.expression);
    if (ts.isConditionalExpression(expression))
      return [...textsOf(expression.whenTrue), ...textsOf(expression.whenFalse)];
    if (ts.isTemplateExpression(expression)) {
      return expression.templateSpans.reduce<readonly string[]>(
        (texts, { expression: inside, literal }) =>
          texts.flatMap((text) => constantsOf(inside).map((value) => text + value + literal.text)),
        [expression.head.text],
      );
    }
    if (ts.isBinaryExpression(expression)) {
      const rights = textsOf(expression.right);
      return textsOf(expression.left).flatMap((left) => rights.map((right) => left + right));
    }
    if (ts.isIdentifier(expression)) {
      const made = initializerOf(expression);
      if (made !== undefined) return textsOf(made);
      const passed = passedTo(expression);
      if (passed !== undefined) return passed.flatMap(textsOf);
    }
    return returnedBy(expression)?.flatMap(textsOf) ?? constantsOf(expression);
  }

  /** Returns the results of a call of a function of ours, if returning is all that it does. */
  function returnedBy(expression: ts.Expression): readonly ts.Expression[] | undefined {
    if (!ts.isCallExpression(expression)) return undefined;
    const declaration = checker.getSymbolAtLocation(expression.expression)?.valueDeclaration;
    if (declaration === undefined || !ts.isFunctionDeclaration(declaration)) return undefined;
    const [only, ...others] = declaration.body?.statements ?? [];
    if (only === undefined || others.length > 0 || !ts.isReturnStatement(only)) return undefined;
    return only.expression && [only.expression];
  }

  /** The values of a constant; `…` for what is not one. */
  function constantsOf(expression: ts.Expression): readonly string[] {
    const made = ts.isIdentifier(expression) ? initializerOf(expression) : undefined;
    if (made !== undefined && (ts.isStringLiteralLike(made) || ts.isBinaryExpression(made)))
      return textsOf(made);
    const type = checker.getTypeAtLocation(expression);
    const parts = type.isUnion() ? type.types : [type];
    return parts.every((part) => part.isStringLiteral()) ? parts.map(({ value }) => value) : ["…"];
  }

  function fieldsOf(expression: ts.Expression | undefined): readonly string[] {
    if (expression === undefined) return [];
    const type = checker.getTypeAtLocation(expression);
    const parts = type.isUnion() ? type.types : [type];
    return parts.flatMap((part) => checker.getPropertiesOfType(part).map(({ name }) => name));
  }

  for (const file of files) {
    const source = program.getSourceFile(join(root, file));
    const of = file.split("/")[1];
    if (source !== undefined && of !== undefined && !passOn.some((path) => file.endsWith(path)))
      visit(source, of);
  }
  return [deliveryLine, eventLine, ...lines.values()].sort(
    (a, b) => a.package.localeCompare(b.package) || a.message.localeCompare(b.message),
  );
}

const begin = "<!-- log lines: npm run docs -->";
const end = "<!-- end of log lines -->";

/** The page with the table of log lines between its marks. */
export function logLinesPage(page: string, lines: readonly LogLine[]): string {
  const rows = lines.map(({ package: of, level, message, fields }) => {
    const names = fields.map((field) => `\`${field}\``).join(", ");
    return `| ${of} | ${level} | ${message.replaceAll("|", "\\|")} | ${names} |`;
  });
  const table = ["| package | level | message | fields |", "|---|---|---|---|", ...rows].join("\n");
  const [before = "", rest = ""] = page.split(begin);
  const [, after = ""] = rest.split(end);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}
