import { join } from "node:path";
import ts from "typescript-classic";

export const root: string = join(import.meta.dirname, "../..");

/** A member of an interface, as an editor shows it. */
export interface Member {
  readonly name: string;
  readonly optional: boolean;
  /** The doc comment, in Markdown. */
  readonly doc: string;
  /** Its doc comment has `@experimental`. */
  readonly isExperimental: boolean;
  /** The type in words, such as "string" or "`credit`, `debit`, or another string". */
  readonly type: string;
  /** The members of the type, if it is an object. */
  members(): readonly Member[];
}

/** The members of an interface, inherited ones included. */
export type ReadInterface = (file: string, name: string) => readonly Member[];

/** Opens files by their path in this repository, on the sources of the packages. */
export function openTypes(files: readonly string[]): ReadInterface {
  const { config } = ts.readConfigFile(join(root, "tsconfig.tests.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const paths = files.map((file) => join(root, file));
  const program = ts.createProgram(paths, options);
  const checker = program.getTypeChecker();

  function membersOf(type: ts.Type): readonly Member[] {
    return checker.getPropertiesOfType(type).map((symbol): Member => {
      const memberType = checker.getTypeOfSymbol(symbol);
      return {
        name: symbol.name,
        optional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
        doc: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
        isExperimental: symbol.getJsDocTags(checker).some(({ name }) => name === "experimental"),
        type: inWords(memberType),
        members: () => membersOf(memberType),
      };
    });
  }

  return (file, name) => {
    const statements = program.getSourceFile(join(root, file))?.statements ?? [];
    const found = statements.find((it) => ts.isInterfaceDeclaration(it) && it.name.text === name);
    if (found === undefined) throw new Error(`${file} has no interface ${name}.`);
    return membersOf(checker.getTypeAtLocation(found));
  };
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
