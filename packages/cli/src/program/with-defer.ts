import type { Awaitable } from "@esim-webhooks/core";

/** Defers a step: it runs after the task, and after the steps that are deferred later. */
export type Defer = (step: () => Awaitable<unknown>) => void;

/**
 * Runs a task, then the steps that it has deferred, the last one first: each one, also if the task or another step fails. Rejects with the
 * first error.
 */
export async function withDefer(task: (defer: Defer) => Promise<void>): Promise<void> {
  const steps: Parameters<Defer>[0][] = [];
  const errors: unknown[] = [];
  const attempt = async (step: () => Awaitable<unknown>) => {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  };
  await attempt(() => task((step) => steps.push(step)));
  for (const step of steps.reverse()) await attempt(step);
  if (errors.length > 0) throw errors[0];
}
