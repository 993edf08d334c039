import { type ManualClock, manualClock } from "../src/base/clock.ts";
import { openDatabase } from "../src/base/database.ts";
import { seededRandom } from "../src/base/random.ts";
import type { Service } from "../src/base/service.ts";
import { type SwitchSettings, switchesSchema } from "../src/base/switches.ts";

export interface TestService extends Service {
  readonly clock: ManualClock;
  /** Moves the clock. */
  pass(ms: number): void;
}

/** Longer than any machine needs for an answer: what is slow is not sent again. */
const answerLimitMs = 200_000;

/** A service in memory, on a clock that stands still. */
export function testService(switches: SwitchSettings = {}): TestService {
  const clock = manualClock();
  return {
    db: openDatabase(),
    clock,
    switches: switchesSchema.parse({ answerLimitMs, ...switches }),
    random: seededRandom(1),
    onDue: () => {},
    pass: (ms) => clock.moveTo(clock.now() + ms),
  };
}

export const hourMs: number = 60 * 60 * 1000;
export const dayMs: number = 24 * hourMs;
