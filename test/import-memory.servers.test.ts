import { importInLittleMemory } from "./import-memory.ts";

importInLittleMemory({ dry: 100_000, stored: 20_000 });
