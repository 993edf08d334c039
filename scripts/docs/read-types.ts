import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-classic";

export const root: string = join(import.meta.dirname, "../..");

/** A member of an interface, as an editor shows it. */
export interface Member {
  readonly name: string;
  readonly optional: boolean;
  /** The doc comment, or else that of its type, in Markdown. */
  readonly doc: string;
  /** Its doc comment has `@experimental`. */
  readonly isExperimental: boolean;
  /** The type in words, such as "string" or "`credit`, `debit`, or another string". */
  readonly type: string;
  /** As its source declares it, on one line. */
  readonly declared: string;
  /** The members of the type, if it is an object. */
  members(): readonly Member[];
}

/** An exported function that takes an options object. */
export interface FunctionWithOptions {
  /** Such as `"@esim-webhooks/core/testing"`. */
  readonly module: string;
  readonly name: string;
  /** The name of the options' type. Empty for a type without a name. */
  readonly type: string;
  readonly options: readonly Member[];
}

/** The exports of the packages, read from their sources: independent of the files that a package has. */
export interface Exports {
  /** The members of an exported interface, inherited ones included. */
  membersOf(module: string, type: string): readonly Member[];
  functionsWithOptions(): readonly FunctionWithOptions[];
  /** Returns the exports of each module, by its name: for a type that is a union of strings, those strings; else none. */
  names(): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** How each module declares what it exports, by its name. */
  declarations(): ReadonlyMap<string, ReadonlyMap<string, Declaration>>;
}

/** A declaration as users of a package see it, on one line and without comments; `experimental` for what its doc comment says is. */
export interface Declaration {
  /** The declaration. For an interface, only its head, and its members without a name. */
  readonly text: string;
  /** The members of an interface, by their names. */
  readonly members: ReadonlyMap<string, string>;
}

let opened: Exports | undefined;

export function packageExports(): Exports {
  opened ??= open();
  return opened;
}

function open(): Exports {
  const { config } = ts.readConfigFile(join(root, "tsconfig.tests.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const entries = entryFiles();
  const program = ts.createProgram([...entries.values()], options);
  const checker = program.getTypeChecker();

  function exportsOf(module: string): readonly ts.Symbol[] {
    const file = program.getSourceFile(entries.get(module) ?? "");
    const symbol = file === undefined ? undefined : checker.getSymbolAtLocation(file);
    if (symbol === undefined) throw new Error(`There is no module ${module}.`);
    return checker
      .getExportsOfModule(symbol)
      .map((it) => ((it.flags & ts.SymbolFlags.Alias) === 0 ? it : checker.getAliasedSymbol(it)));
  }

  function membersOf(type: ts.Type): readonly Member[] {
    return checker.getPropertiesOfType(type).map((symbol): Member => {
      const memberType = checker.getTypeOfSymbol(symbol);
      return {
        name: symbol.name,
        optional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
        doc: docOf(symbol) || docOf(memberType.aliasSymbol),
        isExperimental: symbol.getJsDocTags(checker).some(({ name }) => name === "experimental"),
        type: inWords(memberType),
        declared: onOneLine(symbol.declarations?.[0]?.getText() ?? ""),
        members: () => membersOf(memberType),
      };
    });
  }

  const docOf = (symbol: ts.Symbol | undefined): string =>
    ts.displayPartsToString(symbol?.getDocumentationComment(checker));

  function optionsOf(fn: ts.Symbol, module: string): readonly FunctionWithOptions[] {
    // the last overload is the most general one
    const signature = checker.getTypeOfSymbol(fn).getCallSignatures().at(-1);
    return (signature?.parameters ?? []).flatMap((parameter) => {
      const type = checker.getNonNullableType(checker.getTypeOfSymbol(parameter));
      const typeName = type.aliasSymbol?.name ?? type.symbol?.name ?? "";
      if (!/Options$/.test(typeName) && !/^(?:options|config|wish)$/.test(parameter.name)) return [];
      return [{ module, name: fn.name, type: typeName.replace(/^__.*/, ""), options: membersOf(type) }];
    });
  }

  const read: Exports = {
    membersOf(module, type) {
      const found = exportsOf(module).find(({ name }) => name === type);
      if (found === undefined) throw new Error(`${module} exports no type ${type}.`);
      return membersOf(checker.getDeclaredTypeOfSymbol(found));
    },
    functionsWithOptions: () =>
      [...entries.keys()].flatMap((module) => exportsOf(module).flatMap((it) => optionsOf(it, module))),
    declarations: () =>
      new Map(
        [...entries.keys()].map((module) => [
          module,
          new Map(exportsOf(module).map((it) => [it.name, declarationOf(it)])),
        ]),
      ),
    names: () =>
      new Map(
        [...entries.keys()].map((module) => [
          module,
          new Map(exportsOf(module).map((it) => [it.name, stringsOf(checker.getDeclaredTypeOfSymbol(it))])),
        ]),
      ),
  };
  // the compiler lists the strings of a union in the order in which it has first met them, so all of them are met here
  for (const { members } of read.membersOf("@esim-webhooks/core", "EsimEvents")) members();
  read.functionsWithOptions();
  return read;
}

const declared = new Map<ts.SourceFile, ts.SourceFile>();

/** Returns the declaration file that the compiler writes for a source file. */
function declaredIn(source: ts.SourceFile): ts.SourceFile {
  const known = declared.get(source);
  if (known !== undefined) return known;
  const { outputText } = ts.transpileDeclaration(source.text, { fileName: source.fileName });
  const file = ts.createSourceFile("declared.d.ts", outputText, ts.ScriptTarget.ESNext, true);
  declared.set(source, file);
  return file;
}

/** All declarations of a name in its file: overloads, or a value and a type. */
function declarationOf(symbol: ts.Symbol): Declaration {
  const source = symbol.declarations?.[0]?.getSourceFile();
  const statements = source === undefined ? [] : declaredIn(source).statements;
  const texts: string[] = [];
  const members = new Map<string, string>();
  for (const statement of statements.filter((it) => namesOf(it).includes(symbol.name))) {
    const isInterface = ts.isInterfaceDeclaration(statement) && !isExperimental(statement);
    texts.push(isInterface ? headOf(statement) : textOf(statement));
    for (const member of isInterface ? statement.members : []) {
      const name = member.name?.getText().replaceAll('"', "");
      if (name === undefined) texts.push(textOf(member));
      else members.set(name, [members.get(name) ?? [], textOf(member)].flat().join("; "));
    }
  }
  return { text: texts.join("; "), members };
}

function namesOf(statement: ts.Statement): readonly (string | undefined)[] {
  const own = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
  return own.map((it) => (it as ts.DeclarationStatement).name?.getText());
}

const isExperimental = (node: ts.Node): boolean =>
  ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "experimental");

const printer = ts.createPrinter({ removeComments: true });

const textOf = (node: ts.Node): string =>
  isExperimental(node)
    ? "experimental"
    : onOneLine(printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()));

/** Returns the text before the members. */
const headOf = (node: ts.InterfaceDeclaration): string =>
  onOneLine(node.getText().slice(0, node.members.pos - node.getStart() - 1));

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim().replace(/;$/, "");

/** The source file of each import path of each package. */
function entryFiles(): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const file of globSync("packages/*/package.json", { cwd: root }).sort()) {
    const { name, exports } = JSON.parse(readFileSync(join(root, file), "utf8"));
    for (const [path, target] of Object.entries<Record<string, string>>(exports)) {
      const source = target["@esim-webhooks/source"];
      if (source !== undefined) entries.set(`${name}${path.slice(1)}`, join(root, file, "..", source));
    }
  }
  return entries;
}

function stringsOf(type: ts.Type): readonly string[] {
  const parts = type.isUnion() ? type.types : [type];
  return parts.flatMap((part) => (part.isStringLiteral() ? [part.value] : []));
}

const anythingGoes = ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive;

function inWords(type: ts.Type): string {
  const parts = (type.isUnion() ? type.types : [type]).filter(
    ({ flags }) => (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)) === 0,
  );
  const values = parts.filter((part) => part.isStringLiteral()).map(({ value }) => `\`"${value}"\``);
  const open = parts.some((part) => part.isIntersection()); // string & {}
  const empty = (part: ts.Type) =>
    (part.flags & ts.TypeFlags.Object) !== 0 && part.getProperties().length === 0;
  if (parts.some((part) => (part.flags & anythingGoes) !== 0 || empty(part))) return "anything";
  if (values.length > 0) return open ? `string: ${values.join(", ")} or another` : values.join(", ");
  const names = [ts.TypeFlags.String, ts.TypeFlags.Number].map((flag, index) =>
    parts.some(({ flags }) => (flags & flag) !== 0) ? ["string", "number"][index] : undefined,
  );
  return names.filter((name) => name !== undefined).join(" or ");
}
