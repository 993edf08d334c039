import * as z from "zod/mini";
import { ApiError } from "../base/api-error.ts";
import { checkRequest, invalidRequest, parseWith, requestSchema } from "../base/check-request.ts";
import type { Caller, CallOptions } from "./caller.ts";
import { orNull } from "./data-of.ts";

/** Where a list begins, and how many items a page has. */
export interface PageOptions {
  /** The most items of a page, 1 to 100. Default: the service's, 20. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of an earlier page: the list continues after that page. A cursor can be stored and used later. Default: the list begins with its first item. */
  readonly cursor?: string | undefined;
}

/** Options of a call that lists. */
export interface ListOptions extends PageOptions, CallOptions {}

/** Where a page is in its list. */
export interface Pagination {
  /** The most items of a page. */
  readonly limit: number;
  /** Whether items follow this page. */
  readonly hasMore: boolean;
  /** The cursor of the next page; null at the end. */
  readonly nextCursor: string | null;
}

/** A page of a list, as the service sent it. */
export interface Page<Item> {
  /** The items, in the order of the list. */
  readonly data: readonly Item[];
  /** Whether more items follow, and from where. */
  readonly pagination: Pagination;
}

/** A list. Iterating it gives every item, and fetches a page when it is needed. Each iteration begins again. */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** The first page, or the one at `cursor`. */
  page(): Promise<Page<Item>>;
  /** Every page, each with the cursor that continues after it. */
  pages(): AsyncIterable<Page<Item>>;
}

const pageShape = requestSchema<PageOptions>({
  limit: z.optional(z.int().check(z.gte(1), z.lte(100))),
  cursor: z.optional(z.string().check(z.minLength(1))),
});

/** A list of items at a path. Options are checked immediately, and nothing is sent before a page is asked for. */
export function listingOf<Item>(
  caller: Caller,
  name: string,
  path: string,
  item: z.ZodMiniType<Item>,
  given: ListOptions = {},
): Listing<Item> {
  if (typeof given !== "object" || given === null) {
    throw invalidRequest(name, "the options are not an object", "Pass them by name: { limit, cursor }.");
  }
  const { limit, cursor: first, ...options } = given;
  checkRequest(name, pageShape, { limit, cursor: first });
  const schema = pageSchema(item);

  function fetchPage(cursor: string | undefined): Promise<Page<Item>> {
    const request = { name, method: "GET", path, query: { limit, cursor }, priority: "low" } as const;
    return caller.call(request, options, (json) => parseWith(schema, json));
  }

  async function* pages(): AsyncGenerator<Page<Item>> {
    const used = new Set<string | undefined>(); // one cursor for each call, so the set stays small
    for (let cursor = first; ; ) {
      const page = await fetchPage(cursor);
      yield page;
      used.add(cursor);
      const { hasMore, nextCursor } = page.pagination;
      if (!hasMore) return;
      if (nextCursor === null || used.has(nextCursor)) throw noWayOn(name, nextCursor);
      cursor = nextCursor;
    }
  }

  return {
    page: () => fetchPage(first),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data;
    },
  };
}

function pageSchema<Item>(item: z.ZodMiniType<Item>): z.ZodMiniType<Page<Item>> {
  return z.looseObject({
    data: z.array(item),
    pagination: z.looseObject({
      limit: z.number(),
      hasMore: z.boolean(),
      nextCursor: orNull(z.string()),
    }),
  });
}

/** The error for a page that announces more pages, but has no new cursor. Stopping there would look like the end of the list; continuing would never end. */
function noWayOn(name: string, cursor: string | null): ApiError {
  return new ApiError(
    "unexpected_answer",
    `a page says that more pages follow, but has ${cursor === null ? "no cursor" : "a cursor that was used already"}.`,
    "The list is not complete. Ask again from the top.",
    { where: name },
  );
}
