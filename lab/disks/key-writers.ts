import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { KeyStore, StateStore } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { fileState } from "@esim-webhooks/core/state";
import { sqliteState } from "@esim-webhooks/store-sqlite";
import { expectAll, filesWriter, type Writer } from "./writer.ts";

const keysAWrite = 3;

/** The key stores that are files. */
export const keyWriters: readonly Writer[] = [
  keyFile(),
  keysInState("keys in a folder", (folder) => fileState(join(folder, "state"))),
  keysInState("keys in SQLite", (folder) =>
    sqliteState({ path: join(folder, "state.db"), timeoutMs: 60_000 }),
  ),
];

function keysInState(name: string, open: (folder: string) => StateStore): Writer {
  async function using(folder: string, use: (keys: KeyStore) => Promise<void>): Promise<void> {
    const state = open(folder);
    try {
      await use(stateKeySource(state));
    } finally {
      await state.close();
    }
  }
  return {
    ...filesWriter,
    name,
    write: (folder, acknowledge) => using(folder, (keys) => addKeys(keys, acknowledge)),
    check: (folder, acknowledged) => using(folder, (keys) => expectKeys(keys, acknowledged)),
  };
}

/**
 * A claim of a killed writer has the version of the file in its name, and that has the inode. A restored file has another inode, so the
 * claim gets its name again.
 */
function keyFile(): Writer {
  const versions = new Map<string, string>();
  const place = (folder: string) => join(folder, "keys");
  return {
    ...filesWriter,
    name: "key file",
    write(folder, acknowledge) {
      const keys = fileKeySource(place(folder));
      async function read() {
        const stored = await keys.read();
        if (stored !== undefined) versions.set(readFileSync(place(folder), "utf8"), stored.version);
        return stored;
      }
      return addKeys({ ...keys, read }, acknowledge);
    },
    async check(folder, acknowledged) {
      const file = place(folder);
      const keys = fileKeySource(file);
      const claim = existsSync(file) ? `${file}.next-${versions.get(readFileSync(file, "utf8"))}` : "";
      const version = (await keys.read())?.version;
      if (existsSync(claim)) renameSync(claim, `${file}.next-${version}`);
      await expectKeys(keys, acknowledged);
    },
  };
}

async function addKeys(keys: KeyStore, acknowledge: (secret: string) => void): Promise<void> {
  for (let n = 0; n < keysAWrite; n++) {
    const stored = await keys.read();
    const secret = `whsec_${randomBytes(24).toString("base64")}`;
    if (await keys.write({ keys: [...(stored?.record.keys ?? []), secret] }, stored?.version))
      acknowledge(secret);
  }
}

async function expectKeys(keys: KeyStore, acknowledged: readonly string[]): Promise<void> {
  const found = new Set((await keys.read())?.record.keys);
  expectAll(acknowledged, (secret) => found.has(secret));
  if (acknowledged.length > 0) await keys.load();
}
