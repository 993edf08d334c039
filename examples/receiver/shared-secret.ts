import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { newSecret } from "@esim-webhooks/core/testing";

const folder = new URL("../../node_modules/.cache/esim-webhooks/", import.meta.url);
const file = new URL("receiver-secret", folder);

/** The secret by which `npm run send` signs for `npm start`. The first process that needs it writes it to a file that only its owner can read. */
export function sharedSecret(): string {
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(file, newSecret(), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8");
}
