export type { Config } from "./config.ts";
export { defineConfig } from "./config.ts";
