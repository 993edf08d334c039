import { afterAll } from "vitest";
import { processCpu } from "./cpu.ts";

declare module "vitest" {
  interface TaskMeta {
    /** CPU of the file and of its ended children, in seconds. */
    cpu?: number;
    /** Whether it loaded the modules that later files of its worker share. */
    isFirst?: boolean;
  }
}

const loaded = globalThis as { isLoadedByTests?: true };
const isFirst = loaded.isLoadedByTests !== true;
loaded.isLoadedByTests = true;

const before = processCpu();
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the first parameter as fixtures, and accepts only a pattern
afterAll(({}, { file }) => {
  const { own, children } = processCpu();
  file.meta.cpu = own - before.own + children - before.children;
  file.meta.isFirst = isFirst;
});
