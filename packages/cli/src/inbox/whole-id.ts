import type { InboxAdmin } from "@esim-webhooks/core";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";

const mostNamed = 5;

/**
 * The id that a person means: the one written, or the only one that begins so. Throws `invalid_usage` when several do, and for
 * what must be several ids; another id that nothing begins with stays as it is.
 */
export async function wholeId(
  inbox: Pick<InboxAdmin, "count" | "list">,
  written: string,
  source?: string,
): Promise<string> {
  const from = source === undefined ? {} : { source };
  if (written === "" || (await inbox.count({ ...from, ids: [written] })) > 0) return written;
  const { rows } = await inbox.list({ ...from, idPrefix: written }, { limit: 100 });
  const found = [...new Set(rows.map(({ id }) => id))];
  if (found.length === 0 && written.includes(",")) {
    throw new ProgramError(
      "invalid_usage",
      `No id begins with ${printable(written)}.`,
      "An id may contain a comma: for several ids, write --id before each.",
    );
  }
  if (found.length <= 1) return found[0] ?? written;
  const named = found.slice(0, mostNamed).map(printable).join(", ");
  throw new ProgramError(
    "invalid_usage",
    `Several ids begin with ${printable(written)}: ${named}${found.length > mostNamed ? ", …" : ""}.`,
    "Write more characters of the id that you mean.",
  );
}
