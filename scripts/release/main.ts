// npm run release: builds every package from nothing, packs and checks it, and writes the tarballs and their digests to `release`.
// It publishes nothing: .github/workflows/release.yml passes those files to the job that does. It fails while something stops the
// release; with `--dry-run`, it only says what does.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { isPlaceholder, repositoryUrl } from "../../packages/core/src/base/pages.ts";
import { readChangesets } from "./changesets.ts";
import { type Manifest, readManifests, withNeeded } from "./manifest.ts";
import { makeTarballs, tarballName } from "./tarballs.ts";

const root = join(import.meta.dirname, "../..");
const target = join(root, "release");

interface Tarball {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly bytes: Buffer;
}

const manifests = withNeeded(readManifests()); // what is published can always be installed
rmSync(target, { recursive: true, force: true });
await makeTarballs(manifests, target);
const tarballs = [...manifests.values()].map(readTarball);
const sums = tarballs.map(({ file, bytes }) => `${digest("sha256", "hex", bytes)}  ${file}\n`).join("");
writeFileSync(join(target, "SHA256SUMS"), sums);
for (const { name, version, file, bytes } of tarballs) {
  const kilobytes = Math.ceil(bytes.byteLength / 1000);
  console.log(`${name}@${version}  release/${file}  ${kilobytes} kB`);
  console.log(`  sha256:${digest("sha256", "hex", bytes)}\n  sha512-${digest("sha512", "base64", bytes)}`);
}

const faults = await findFaults();
const stops = findStops();
for (const text of [...faults, ...stops]) console.log(`✖ ${text}`);
const isDryRun = process.argv.includes("--dry-run");
if (faults.length > 0 || (stops.length > 0 && !isDryRun)) process.exitCode = 1;
else
  console.log(
    `${tarballs.length} packages could be published${stops.length > 0 ? ", once that is done" : ""}.`,
  );

function readTarball(manifest: Manifest): Tarball {
  const file = tarballName(manifest);
  return { name: manifest.name, version: manifest.version, file, bytes: readFileSync(join(target, file)) };
}

function digest(algorithm: string, encoding: "hex" | "base64", bytes: Buffer): string {
  return createHash(algorithm).update(bytes).digest(encoding);
}

/** Returns the faults of the tarballs, by the rules of publint. */
async function findFaults(): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, bytes } of tarballs) {
    const { messages, pkg } = await publint({
      pack: { tarball: Uint8Array.from(bytes).buffer },
      strict: true,
    });
    for (const message of messages)
      faults.push(`${name}: ${formatMessage(message, pkg ?? {}, { color: false })}`);
  }
  return faults;
}

/** Returns the reasons that stop a release of packages that are right in themselves. */
function findStops(): string[] {
  const [version] = new Set(tarballs.map((tarball) => tarball.version));
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: tag } = process.env;
  const changesets = readChangesets();
  return [
    ...(isPlaceholder(repositoryUrl)
      ? [
          `The repository's address is a placeholder: ${repositoryUrl}. Change it in packages/core/src/base/pages.ts, and run \`npm run docs\`.`,
        ]
      : []),
    ...(changesets.length > 0
      ? [
          `${changesets.length} changesets are not in a version yet. Run \`npm run versions\`, and commit what it changes.`,
        ]
      : []),
    ...(type === "tag" && tag !== `v${version}`
      ? [
          `The tag ${tag} is not that of version ${version}. Tag the commit that has the version as v${version}.`,
        ]
      : []),
  ];
}
