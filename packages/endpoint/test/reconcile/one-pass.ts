import {
  createReconciler,
  observeReconciliations,
  type ReconcileMessage,
  type ReconcilerOptions,
  type ReconcileTarget,
} from "@esim-webhooks/endpoint";

/** One pass of a reconciler, as observers see its end. */
export async function onePass(
  api: Parameters<typeof createReconciler>[0],
  endpoint: string,
  target: ReconcileTarget,
  options: ReconcilerOptions,
): Promise<ReconcileMessage> {
  const stop = new AbortController();
  const ended = Promise.withResolvers<ReconcileMessage>();
  const stopObserving = observeReconciliations((message) => {
    if (message.outcome === "running") return;
    ended.resolve(message);
    stop.abort();
  });
  try {
    await createReconciler(api, endpoint, target, options).run({ signal: stop.signal });
    return await ended.promise;
  } finally {
    stopObserving();
  }
}
