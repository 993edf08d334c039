import { join } from "node:path";
import type { KeyStore, StateStore } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { fileState } from "@esim-webhooks/core/state";
import { postgresState } from "@esim-webhooks/store-postgres";
import { redisState } from "@esim-webhooks/store-redis";
import { sqliteState } from "@esim-webhooks/store-sqlite";

const timeoutMs = 60_000; // a busy machine is no fault of the store

export const placeKinds = ["a key file", "a folder", "SQLite", "Postgres", "Redis"] as const;

/** Where keys and watermarks are kept. Plain JSON, for processes. */
export interface Place {
  readonly kind: (typeof placeKinds)[number];
  /** The folder, or the URL of the server. */
  readonly at: string;
}

export interface OpenPlace extends AsyncDisposable {
  readonly keys: KeyStore;
  readonly state: StateStore;
}

/** Opens a place, with connections of its own as a process has them. */
export function openPlace({ kind, at }: Place): OpenPlace {
  const state = stateIn({ kind, at });
  return {
    keys: kind === "a key file" ? fileKeySource(join(at, "keys")) : stateKeySource(state),
    state,
    [Symbol.asyncDispose]: () => state.close(),
  };
}

function stateIn({ kind, at }: Place): StateStore {
  switch (kind) {
    case "a key file":
    case "a folder":
      return fileState(join(at, "state"));
    case "SQLite":
      return sqliteState({ path: join(at, "state.db"), timeoutMs });
    case "Postgres":
      return postgresState({ url: at, timeoutMs });
    case "Redis":
      return redisState(at, { timeoutMs });
  }
}
