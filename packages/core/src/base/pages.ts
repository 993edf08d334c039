/** The repository's address, to which packed pages, messages and alerts link. This is the one line to change; then run `npm run docs`. */
export const repositoryUrl: string = "https://github.com/your-organization/esim-webhooks";

/** Whether an address is the placeholder, at which no page can be read. */
export function isPlaceholder(address: string): boolean {
  return address.includes("/your-organization/");
}

/** The URL of a file or folder of the repository, such as `docs/runbook.md`. */
export function pageUrl(path: string, address: string = repositoryUrl): string {
  return `${address}/blob/main/${path}`;
}

/** A page of the repository, such as `docs/sandbox.md`, as a message names it: its URL, or its name while the address is the placeholder. */
export function pageOf(path: string, address: string = repositoryUrl): string {
  return isPlaceholder(address) ? `${path} of esim-webhooks` : pageUrl(path, address);
}
