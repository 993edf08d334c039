import { addClient } from "../account/clients.ts";
import { views } from "./changes.ts";
import type { Parts } from "./parts.ts";

/**
 * Makes the state that of a new sandbox: no eSIMs, endpoints, events, faults or other clients, and no
 * calls that count for a rate limit. The credentials stay, tokens of
 * the client stay valid, and the clock is not set back.
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
    db.run("delete from clients"); // and with them what belongs to them
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
  for (const view of views) changes.tell(view);
}
