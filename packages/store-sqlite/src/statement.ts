/** The tokens that matter here, split as SQLite's own tokenizer does. Takes linear time. */
const token =
  /\s+|--[^\n]*|\/\*.*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\p{L}\p{N}_$]+|./gsu;
const blankOrComment = /^(?:\s|--|\/\*)/;

/** The facts that the text of a statement shows. */
export interface StatementText {
  /** Its verb in lower case, such as `insert`; after a WITH clause, the verb that follows the clause. */
  readonly verb: string;
  /** The name of the table that it writes to, without quotes and schema; undefined if it writes to none. */
  readonly table: string | undefined;
  /** Whether there is more than one statement in the text. */
  readonly hasMore: boolean;
}

/** Reads the verb and the table of the first statement in a text. */
export function readStatement(sql: string): StatementText {
  const tokens = (sql.match(token) ?? []).filter((each) => !blankOrComment.test(each));
  const end = tokens.indexOf(";");
  const first = end === -1 ? tokens : tokens.slice(0, end);
  const words = first.slice(verbAt(first));
  return {
    verb: lower(words[0]),
    table: tableOf(words),
    hasMore: end !== -1 && tokens.slice(end).some((each) => each !== ";"),
  };
}

const verbs: readonly string[] = ["select", "values", "insert", "update", "delete", "replace"];

/** The index of the verb. After WITH, it is the first verb directly after a `)`, outside of all parentheses: no name of a table is at such a place. */
function verbAt(tokens: readonly string[]): number {
  if (lower(tokens[0]) !== "with") return 0;
  let depth = 0;
  const at = tokens.findIndex((each, index) => {
    if (each === "(") depth += 1;
    if (each === ")") depth -= 1;
    return depth === 0 && tokens[index - 1] === ")" && verbs.includes(lower(each));
  });
  return at === -1 ? 0 : at;
}

function tableOf([verb, ...words]: readonly string[]): string | undefined {
  if (!["insert", "update", "delete", "replace"].includes(lower(verb))) return undefined;
  const rest = words.slice(lower(words[0]) === "or" ? 2 : 0);
  const names = rest.slice(["into", "from"].includes(lower(rest[0])) ? 1 : 0);
  return unquoted(names[1] === "." ? names[2] : names[0]);
}

function lower(word: string | undefined): string {
  return word?.toLowerCase() ?? "";
}

function unquoted(name: string | undefined): string | undefined {
  const quote = name?.[0] ?? "";
  return "'\"`[".includes(quote) ? name?.slice(1, -1) : name;
}

const longestHead = 60;

/** The beginning of a statement for a message: up to its first value, which may be confidential, or its first quoted name. */
export function headOf(sql: string): string {
  const head = (/^(?:[^'"`[\d]|(?<=\w)\d)*/.exec(sql)?.[0] ?? "").replaceAll(/\s+/g, " ").trim();
  return head === sql && head.length <= longestHead ? head : `${head.slice(0, longestHead)} …`;
}
