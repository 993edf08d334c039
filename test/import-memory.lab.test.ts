import { importInLittleMemory } from "./import-memory.ts";

importInLittleMemory({ dry: 1_000_000, stored: 200_000 });
