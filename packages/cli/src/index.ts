export type { Config, ConfigTarget, OwnWorkers } from "./set-up/config.ts";
export { defineConfig } from "./set-up/config.ts";
