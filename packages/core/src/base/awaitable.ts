/** A value, or a promise of it. `await` accepts both. */
export type Awaitable<T> = T | Promise<T>;
