/** Where the pages of the repository are read: a URL that ends in a slash. Undefined while there is none. */
export const pagesUrl: string | undefined = undefined;

/** A page of the repository, such as `docs/sandbox.md`, as a message names it: its URL, or its name while there is none. */
export function pageOf(path: string, url: string | undefined = pagesUrl): string {
  return url === undefined ? `${path} of esim-webhooks` : url + path;
}
