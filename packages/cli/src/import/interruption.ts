export interface Interruption {
  readonly signal: AbortSignal;
  /** Whether it came. */
  readonly came: () => boolean;
  /** From now on, signals end the process as they do. */
  stop(): void;
}

const signals = ["SIGINT", "SIGTERM"] as const;

/** Ctrl-C once: `onFirst`, and the signal aborts. Twice: the process ends at once, with 130. */
export function hearInterruption(process: NodeJS.Process, onFirst: () => void): Interruption {
  const abort = new AbortController();
  const hear = () => {
    if (abort.signal.aborted) process.exit(130);
    abort.abort();
    onFirst();
  };
  for (const signal of signals) process.on(signal, hear);
  return {
    signal: abort.signal,
    came: () => abort.signal.aborted,
    stop() {
      for (const signal of signals) process.off(signal, hear);
    },
  };
}
