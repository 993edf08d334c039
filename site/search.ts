import { sections } from "./pages.ts";

const guide: ReadonlySet<string> = new Set(sections[0]?.pages.map(({ url }) => `/${url}`));

/** How much a page counts in a search, by the address of its heading: the guide first, the API reference and the design pages last. */
export function boostOf(id: string): number {
  if (guide.has(id.split("#")[0] ?? "")) return 2;
  return /^\/(api|design|packages)/.test(id) ? 0.2 : 1;
}

/** Options of the search, which it gets as they are. */
export const searchOptions = {
  fuzzy: 0.2,
  prefix: true,
  combineWith: "AND",
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: boostOf,
} as const;
