import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";

export interface PageRequest {
  /** 1 to 100. */
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

export const paginationSchema = z
  .object({
    limit: z.int(),
    hasMore: z.boolean(),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "Pagination" });

export interface Page<Entry> {
  readonly data: Entry[];
  readonly pagination: z.output<typeof paginationSchema>;
}

/** The key by which a list is sorted, newest first. */
interface Placed {
  readonly createdAt: number;
  readonly sequence: number;
}

/** A page shows entries that are older than `createdAt` and `sequence`, without the first `skip` of them. */
export interface PageStart extends Placed {
  readonly skip: number;
}

const top: PageStart = { createdAt: Number.MAX_SAFE_INTEGER, sequence: Number.MAX_SAFE_INTEGER, skip: 0 };

const cursorSchema = z.tuple([z.string(), z.int().min(0), z.int().min(0), z.int().min(0)]);

/**
 * Returns a page of a list. `read` returns at most `limit` rows, from `start` on. With the switch `cursor: snapshot`, the next page
 * starts after the last row, so that newer entries do not move it; with `live`, it starts after as many rows as were shown.
 * Throws `invalid` for a cursor that is not of this list.
 */
export function pageOf<Row extends Placed, Entry>(
  service: Service,
  list: string,
  request: PageRequest,
  read: (start: PageStart, limit: number) => Row[],
  entryOf: (row: Row) => Entry,
): Page<Entry> {
  const { limit, cursor } = request;
  const start = cursor === undefined ? top : readCursor(list, cursor);
  const rows = read(start, limit + 1);
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const isLive = service.switches.cursor === "live";
  const next = last && (isLive ? { ...start, skip: start.skip + limit } : { ...last, skip: 0 });
  return {
    data: shown.map(entryOf),
    pagination: { limit, hasMore: next !== undefined, nextCursor: next ? writeCursor(list, next) : null },
  };
}

function writeCursor(list: string, { createdAt, sequence, skip }: PageStart): string {
  const fields: z.input<typeof cursorSchema> = [list, createdAt, sequence, skip];
  return Buffer.from(JSON.stringify(fields)).toString("base64url");
}

function readCursor(list: string, cursor: string): PageStart {
  const parsed = cursorSchema.safeParse(parseJson(Buffer.from(cursor, "base64url").toString()));
  if (parsed.success && parsed.data[0] === list) {
    const [, createdAt, sequence, skip] = parsed.data;
    return { createdAt, sequence, skip };
  }
  throw new Refused(
    "invalid",
    "The cursor is not one of this list. Pass nextCursor of the page before, as it is.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
