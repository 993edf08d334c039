import { posix } from "node:path";
import { pageUrl } from "../../packages/core/src/base/pages.ts";

/** The README of a package in `folder`, as a registry shows it: its links to files of the repository are absolute. */
export function packedReadme(readme: string, folder: string): string {
  return readme.replaceAll(
    /(\]\()(?!https?:|#)([^)\s]+)/g,
    (_, start: string, link: string) => start + pageUrl(posix.join(folder, link)),
  );
}
