/**
 * Decides when complete bodies are hashed, so that a small delivery does not wait for the hashes of all long ones that
 * arrived in the same event-loop tick. Short bodies are hashed immediately. Of long bodies, each tick hashes 256 KiB, or one
 * that is longer; the others wait, and the shortest goes first.
 */
export interface HashSchedule {
  /** Returns whether a body of this length may be hashed now. If so, and it is long, its length is taken off what the tick may still hash. */
  tryAdmit(bytes: number): boolean;
  /** Calls `start` in the tick in which the body may be hashed. Returns a function that withdraws the body. */
  wait(bytes: number, start: () => void): () => void;
}

interface WaitingBody {
  readonly bytes: number;
  start(): void;
}

const shortBytes = 32 * 1024; // hashed in 20 to 40 µs a key, no more than the rest of the request takes
const tickBytes = 256 * 1024; // a quarter of the longest body that is accepted by default

/**
 * The time after which a tick counts as lost, in ms: Cloudflare Workers drop the `setImmediate` of a request that has ended. It is longer than any
 * normal block of the event loop; otherwise a late tick would run twice.
 */
const lostMs = 1_000;

export function createHashSchedule(): HashSchedule {
  const waiting: WaitingBody[] = []; // the shortest last
  let leftBytes = tickBytes; // of this tick
  let dueSince: number | undefined; // when the next tick was asked for

  function isLost(): boolean {
    return dueSince !== undefined && performance.now() - dueSince >= lostMs;
  }

  function awaitTick(): void {
    if (dueSince !== undefined && !isLost()) return;
    dueSince = performance.now();
    setImmediate(beginTick);
  }

  function beginTick(): void {
    dueSince = undefined;
    leftBytes = tickBytes;
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      const isFirst = leftBytes === tickBytes;
      if (!isFirst && next.bytes > leftBytes) break;
      leftBytes -= next.bytes;
      waiting.pop();
      next.start();
    }
    if (leftBytes < tickBytes) awaitTick();
  }

  return {
    tryAdmit(bytes) {
      if (bytes <= shortBytes) return true;
      if (bytes > leftBytes) return false;
      leftBytes -= bytes;
      awaitTick();
      return true;
    },
    wait(bytes, start) {
      const rescue = setInterval(() => isLost() && beginTick(), lostMs); // a timer of this request fires, since the request has not ended
      const stop = () => clearInterval(rescue);
      const body: WaitingBody = {
        bytes,
        start() {
          stop();
          start();
        },
      };
      const behind = waiting.findIndex((other) => other.bytes <= bytes); // the oldest of equals goes first
      waiting.splice(behind < 0 ? waiting.length : behind, 0, body);
      awaitTick();
      return () => {
        stop();
        const index = waiting.lastIndexOf(body);
        if (index >= 0) waiting.splice(index, 1);
      };
    },
  };
}
