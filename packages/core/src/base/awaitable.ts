/** An answer given at once, or a promise of it. A caller that awaits takes both. */
export type Awaitable<T> = T | Promise<T>;
