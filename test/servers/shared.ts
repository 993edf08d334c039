import { inject } from "vitest";

/** The Redis that all tests share: use keys of your own. */
export const redisUrl: string = inject("redisUrl");

/** The Postgres that all tests share: use a schema of your own. */
export const postgresUrl: string = inject("postgresUrl");
