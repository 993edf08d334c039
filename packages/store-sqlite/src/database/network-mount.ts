import { statfs } from "node:fs/promises";
import { FaultError } from "./errors.ts";

/** Types of Linux file systems (statfs(2)) whose disk is another machine's. FUSE is left out: it may be either. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
]);

/** The name of a network file system by its number; undefined for every other one. */
export function networkTypeOf(type: number): string | undefined {
  return networkTypes.get(type >>> 0);
}

/**
 * Refuses a folder on a network mount: locks there do not hold between machines, nor does a write-ahead log, whose index
 * is shared memory. Asks on Linux only: elsewhere the numbers mean something else.
 */
export async function refuseNetworkMount(folder: string): Promise<void> {
  if (process.platform !== "linux") return;
  const { type } = await statfs(folder);
  const name = networkTypeOf(type);
  if (name === undefined) return;
  throw new FaultError({
    code: "network_mount",
    problem: `The folder ${folder} is on a network mount (${name}), where SQLite's locks do not hold.`,
    remedy: "Use a local disk, or Postgres for several machines; allowNetworkMount: true takes the risk.",
  });
}
