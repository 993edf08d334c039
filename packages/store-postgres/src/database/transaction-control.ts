const lineComment = /--[^\n]*/su;
const comment = /\/\*(?:(?!\/\*|\*\/).|\/\*.*?\*\/)*\*\//su; // may contain other comments
const dollarQuoted = /\$(?<tag>(?:[\p{L}_][\p{L}\p{N}_]*)?)\$.*?\$\k<tag>\$/su;
const quoted = /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"/su;
const word = /(?<word>[\p{L}_][\p{L}\p{N}_$]*)/su;

/** The tokens that show where a statement begins, split as Postgres' own scanner does. */
const token = new RegExp(
  [lineComment, comment, dollarQuoted, quoted, word, /;/].map(({ source }) => source).join("|"),
  "gsu",
);

const control = /^(?:begin|start transaction|commit|end|rollback|abort|prepare transaction)\b/;
const toSavepoint = /^rollback(?: work| transaction)? to\b/;

/**
 * The statement in `sql` that would begin or end a transaction, in capitals, such as `COMMIT`; undefined if there is none.
 * Savepoints are allowed: they stay within the transaction.
 */
export function transactionControlIn(sql: string): string | undefined {
  const statements = [""];
  for (const { 0: text, groups } of sql.matchAll(token)) {
    if (text === ";") statements.push("");
    else if (groups?.["word"] !== undefined) statements[statements.length - 1] += `${text.toLowerCase()} `;
  }
  const found = statements.find((words) => control.test(words) && !toSavepoint.test(words));
  return found === undefined ? undefined : control.exec(found)?.[0].toUpperCase();
}
