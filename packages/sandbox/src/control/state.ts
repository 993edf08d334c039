import { addClient } from "../account/clients.ts";
import type { Fault } from "../base/fault.ts";
import type { Switches } from "../base/switches.ts";
import { views } from "./changes.ts";
import type { Parts } from "./parts.ts";

/** The sandbox as a whole, as the control side shows it. */
export interface State {
  /** The time of the service's clock. */
  readonly now: string;
  /** How many times as fast as real time the clock goes; null: it stands still until it is advanced. */
  readonly speed: number | null;
  /** When the next attempt of a delivery is due; null when none is. */
  readonly nextDueAt: string | null;
  readonly clients: readonly { readonly clientReference: string; readonly name: string }[];
  readonly faults: readonly Fault[];
  readonly switches: Switches;
}

export function stateOf({ service, faults, sender, speed }: Parts): State {
  const nextDueAt = sender.nextDueAt();
  return {
    now: new Date(service.clock.now()).toISOString(),
    speed,
    nextDueAt: nextDueAt === undefined ? null : new Date(nextDueAt).toISOString(),
    clients: service.db.all("select clientReference, name from clients order by rowid"),
    faults: faults.list(),
    switches: service.switches,
  };
}

/**
 * Resets the state to that of a new sandbox: no eSIMs, endpoints, events, faults or other clients, and no calls that count for a
 * rate limit. The first client keeps its credentials and its tokens, and the clock is not set back.
 */
export function reset({ service, faults, limits, changes, clientReference }: Parts): void {
  const { db } = service;
  db.transaction(() => {
    const client = db.get<{ clientSecret: string }>(
      "select clientSecret from clients where clientReference = ?",
      clientReference,
    );
    const tokens = db.all<{ hash: string; expiresAt: number }>(
      "select hash, expiresAt from tokens where clientReference = ?",
      clientReference,
    );
    db.run("delete from clients"); // and, by cascade, all that belongs to them
    db.run("delete from eventTypes");
    addClient(service, { clientReference, ...client });
    for (const { hash, expiresAt } of tokens)
      db.run(
        "insert into tokens (hash, clientReference, expiresAt) values (?, ?, ?)",
        hash,
        clientReference,
        expiresAt,
      );
  });
  faults.clear();
  limits.calls.clear();
  limits.tokens.clear();
  for (const view of views) changes.report(view);
}
