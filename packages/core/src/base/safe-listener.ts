import { warnOfCallback } from "./logger.ts";

/** For authors of inboxes: wraps a listener of `onHint`. If it throws, nothing else fails. The first error becomes a process warning. */
export function safeListener(listener: () => void): () => void {
  let isWarned = false;
  return () => {
    try {
      listener();
    } catch (error) {
      if (isWarned) return;
      isWarned = true;
      warnOfCallback(
        "listener_failed",
        "A listener of onHint threw. Catch errors inside the listener.",
        error,
      );
    }
  };
}
