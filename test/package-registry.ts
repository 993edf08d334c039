import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Manifest } from "../scripts/release/manifest.ts";
import { tarballName } from "../scripts/release/tarballs.ts";

/** Serves the tarballs of packages in a folder as an npm registry, for a package manager that takes no files. */
export async function startRegistry(
  manifests: readonly Manifest[],
  folder: string,
): Promise<{ readonly url: string; close(): void }> {
  const files = new Map<string, string | Buffer>();
  const server = createServer(({ url = "" }, response) => {
    const found = files.get(decodeURIComponent(url));
    response.writeHead(found === undefined ? 404 : 200).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const manifest of manifests) {
    const { name, version } = manifest;
    const file = tarballName(manifest);
    const bytes = readFileSync(join(folder, file));
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const versions = { [version]: { ...manifest, dist: { tarball: `${url}${file}`, integrity } } };
    files.set(`/${name}`, JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
    files.set(`/${file}`, bytes);
  }
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, close };
}
