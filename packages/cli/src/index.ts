export type { Config, ConfigTarget, EmbeddedTarget, OwnWorkers } from "./set-up/config.ts";
export { defineConfig } from "./set-up/config.ts";
