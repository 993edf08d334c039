export type { Config } from "./set-up/config.ts";
export { defineConfig } from "./set-up/config.ts";
