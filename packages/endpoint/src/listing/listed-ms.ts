/** How long the service lists deliveries, in ms: 7 days. */
export const listedMs: number = 7 * 24 * 60 * 60_000;
