import type { Logger } from "../base/logger.ts";
import { takeStage } from "../handle/stages.ts";
import type { InboxQueue, TakeOptions } from "../store/inbox-queue.ts";
import type { InFlightEvents } from "./in-flight.ts";

export interface TakerOptions {
  readonly inbox: Pick<InboxQueue, "take">;
  readonly concurrency: number;
  readonly typeLimits: Readonly<Record<string, number>>;
  readonly leaseMs: number;
  readonly logger: Logger;
}

/** Takes events, and starts their handlers. */
export interface Taker {
  /**
   * Takes one suspect and handles it alone, for at most `leaseMs`: if it crashes the process, no other handler dies with it. Resolves to the
   * time, in ms, for other events before the next suspect: as long as this one took, or `leaseMs` if it still runs. Undefined: none.
   */
  takeSuspect(inFlight: InFlightEvents): Promise<number | undefined>;
  /** Fills the free slots with events; types with a limit are taken separately. Resolves to whether more may be due. */
  takeSome(inFlight: InFlightEvents, signal: AbortSignal): Promise<boolean>;
  /** How long ago the inbox last answered a `take`, in ms; null before the first time. */
  sinceLastTakeMs(): number | null;
}

export function createTaker({ inbox, concurrency, typeLimits, leaseMs, logger }: TakerOptions): Taker {
  let tookAt: number | undefined;

  const take = takeStage.around(
    async (options: Omit<TakeOptions, "leaseMs">) => {
      const taken = await inbox.take({ ...options, leaseMs });
      tookAt = performance.now();
      return taken;
    },
    ({ limit, suspects = false }) => ({ limit, suspects }),
    (taken) => ({
      outcome: "taken",
      taken: taken.length,
      events: taken.map(({ source, id, type, trace }) => ({ source, id, type, trace })),
    }),
  );

  return {
    async takeSuspect(inFlight) {
      const takenAt = performance.now();
      const [suspect] = await take({ limit: 1, suspects: true });
      if (suspect === undefined) return undefined;
      const { id, source, type, attempt } = suspect;
      logger.warn(
        { id, type, source, attempt },
        "An event is handled alone: its last lease ended without a result, so its handler may have ended the process.",
      );
      const group = type !== null && Object.hasOwn(typeLimits, type) ? type : null;
      const isEnded = await inFlight.startAlone(suspect, takenAt, group);
      return isEnded ? performance.now() - takenAt : leaseMs;
    },
    async takeSome(inFlight, signal) {
      let mayBeMore = false;
      const fill = async (
        room: number,
        which: Pick<TakeOptions, "only" | "except">,
        group: string | null,
      ) => {
        const limit = Math.min(room, concurrency - inFlight.running());
        if (limit <= 0 || signal.aborted) return;
        const takenAt = performance.now();
        const taken = await take({ limit, ...which });
        for (const event of taken) inFlight.start(event, takenAt, group);
        mayBeMore ||= taken.length === limit;
      };
      for (const [type, limit] of Object.entries(typeLimits)) {
        await fill(limit - inFlight.running(type), { only: [type] }, type);
      }
      await fill(concurrency, { except: Object.keys(typeLimits) }, null);
      return mayBeMore;
    },
    sinceLastTakeMs: () => (tookAt === undefined ? null : performance.now() - tookAt),
  };
}
