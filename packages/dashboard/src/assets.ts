import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

export type Encoding = "br" | "gzip" | "identity";

/** A file of the page, as it is and compressed. */
interface Asset {
  readonly type: string;
  readonly bodies: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
}

const types: Readonly<Record<string, string>> = {
  "dashboard.js": "text/javascript; charset=utf-8",
  "dashboard.css": "text/css; charset=utf-8",
};

const read = new Map<string, Promise<Asset>>();

/** A file of the page: read and compressed at the first request. Undefined: there is none of this name. */
export function assetOf(name: string): Promise<Asset> | undefined {
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (type === undefined) return undefined;
  const known = read.get(name) ?? readAsset(name, type);
  read.set(name, known);
  known.catch(() => read.delete(name));
  return known;
}

async function readAsset(name: string, type: string): Promise<Asset> {
  const identity = await readFile(new URL(`../assets/${name}`, import.meta.url));
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)]);
  return { type, bodies: { identity, br, gzip: zipped } };
}

/** The best encoding that a browser accepts, by its `accept-encoding`. */
export function encodingOf(accepted: string): Encoding {
  const names = accepted
    .split(",")
    .filter((each) => !/;\s*q=0(?:\.0*)?\s*$/.test(each))
    .map((each) => each.split(";")[0]?.trim().toLowerCase());
  return (["br", "gzip"] as const).find((encoding) => names.includes(encoding)) ?? "identity";
}
