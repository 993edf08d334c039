import type { Logger } from "@esim-webhooks/core";

const nothing = () => {};

/** A logger that prints nothing; without one, set-up mistakes are warnings of the process. */
export const quiet: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
