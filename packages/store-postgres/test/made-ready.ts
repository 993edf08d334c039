import { expect } from "vitest";

/** Makes the tables. Repeated, since the time of the store may be short for a machine that stalls. */
export async function madeReady(store: {
  migrate(): Promise<unknown>;
  ready(): Promise<void>;
}): Promise<void> {
  const made = () => store.migrate().then(() => store.ready());
  await expect.poll(() => made().catch(String)).toBeUndefined();
}
