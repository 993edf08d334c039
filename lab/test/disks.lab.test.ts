import { expect, it } from "vitest";
import { runNode } from "../../test/run.ts";
import { withoutDisk } from "../disks/fuse.ts";

/** The output of `npm run lab -- disks`, once no promise was broken. */
async function disks(writer: string, mostCalls: number): Promise<string> {
  const { code, output } = await runNode(["lab/main.ts", "disks", writer, `${mostCalls}`]).ended;
  expect(output).not.toMatch(/[1-9] broken promises/);
  expect(code, output).toBe(0);
  return output;
}

it("loses nothing acknowledged at some calls of each writer, and would without each of these syncs", async () => {
  const output = await disks("", 1);
  const writers = [...output.matchAll(/^(.+): 1 of \d+ calls/gm)].map(([, name]) => name);
  expect(writers).toEqual([
    "key file",
    "keys in a folder",
    "keys in SQLite",
    "inbox",
    "dedupe store",
    "backup",
    "import",
  ]);
  const noticed = new Set([...output.matchAll(/without the sync of (.+): noticed/g)].map(([, name]) => name));
  const syncs = ["keys.draft-…/…", "state/signing-keys.…", "data/events.db-wal", "….backup.….partial"];
  expect([...noticed]).toEqual(
    expect.arrayContaining(["its folder", ...syncs, "data/events.db", "….rejects"]),
  );
});

it("keeps keys in a folder when any call of their writer fails, and the writer continues", async () => {
  expect(await disks("keys in a folder", 100)).toMatch(/^keys in a folder: (\d+) of \1 calls/m);
});

it("loses nothing acknowledged of Postgres, and would with fsync or synchronous commits off", async (context) => {
  context.skip(withoutDisk !== undefined, withoutDisk);
  const output = await disks("postgres", 2);
  expect(output).toMatch(/^postgres: 2 of \d+ calls, 2 power cuts/m);
  const noticed = [...output.matchAll(/^ {2}(.+): noticed, at a power cut/gm)].map(([, name]) => name);
  expect(noticed).toEqual(["fsync = off", "stores that leave synchronous_commit = off"]);
  expect(output).toMatch(/synchronous_commit = off: noticed, .*acknowledged, and missing/);
});
