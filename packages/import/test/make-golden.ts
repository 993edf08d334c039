import { mkdirSync, writeFileSync } from "node:fs";
import { goldenDumps } from "./golden.ts";

// node --conditions=@esim-webhooks/source packages/import/test/make-golden.ts
const folder = new URL("golden/", import.meta.url);
mkdirSync(folder, { recursive: true });
for (const { name, bytes } of goldenDumps()) writeFileSync(new URL(name, folder), bytes);
