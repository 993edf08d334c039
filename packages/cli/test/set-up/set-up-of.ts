import type { SetUp } from "../../src/set-up/set-up.ts";

/** The set-up of a config file with nothing in it, but for these settings. */
export function setUpOf(settings: Partial<SetUp>): SetUp {
  return {
    file: "config.ts",
    config: {},
    environment: "production",
    secret: undefined,
    secretFrom: undefined,
    catalog: undefined,
    handlers: undefined,
    source: "default",
    place: { dataDir: "unused", path: "/unused", user: undefined },
    ...settings,
  };
}
