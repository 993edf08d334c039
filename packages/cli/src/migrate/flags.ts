import type { FlagValues } from "../flags/flag.ts";
import { jsonFlag, setUpFlags } from "../flags/flag-kinds.ts";

export type MigrateFlags = FlagValues<typeof migrateFlags>;

export const migrateFlags = { ...setUpFlags, json: jsonFlag };
