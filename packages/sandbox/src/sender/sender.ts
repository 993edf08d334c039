import type { Service } from "../base/service.ts";
import type { Faults } from "../faults/faults.ts";

/** Sends what is due, and again what fails. */
export interface Sender {
  /** Resolves when everything that is due now was answered, or has hung. */
  settle(): Promise<void>;
  /**
   * Resolves when the first attempts of these events' deliveries were answered, or have failed. For events that come
   * before the answer of the call that caused them.
   * @param eventIds as `emitEvent` returned them
   */
  answered(eventIds: readonly string[]): Promise<void>;
  /** When the next attempt is due, in ms of the service's clock; undefined when none is. */
  nextDueAt(): number | undefined;
  /** Starts no more attempts, and ends those under way: their deliveries are sent again at the next start. */
  close(): Promise<void>;
}

/** Sends from now on: first what an earlier process has left unanswered. Sets `service.onDue`. */
export function createSender(service: Service, _faults: Faults): Sender {
  service.onDue = () => {};
  return {
    settle: async () => {},
    answered: async () => {},
    nextDueAt: () => undefined,
    close: async () => {},
  };
}
