import type { Connection } from "../database/connection.ts";
import type { Transaction } from "../database/transaction.ts";
import { newFence } from "./lease.ts";

/** A value as JSON, and its version. */
export interface StateRow {
  readonly value: string;
  readonly version: string;
}

export interface WriteStateInput {
  readonly name: string;
  readonly value: string;
  /** The version that was read; undefined when there was none. */
  readonly version: string | undefined;
}

export function readState(
  connection: Connection,
  { name }: Pick<WriteStateInput, "name">,
): StateRow | undefined {
  return connection.get("select value, version from esim_webhooks_state where name = ?", name);
}

/** Writes a value in place of the version that was read. False: another process has written meanwhile. */
export function writeState(tx: Transaction, { name, value, version }: WriteStateInput): boolean {
  const changed =
    version === undefined
      ? tx.run(
          `insert into esim_webhooks_state (name, value, version) values (?, ?, ${newFence}) on conflict do nothing`,
          name,
          value,
        )
      : tx.run(
          `update esim_webhooks_state set value = ?, version = ${newFence} where name = ? and version = ?`,
          ...[value, name, version],
        );
  return changed > 0;
}
