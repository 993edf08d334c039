import { type Kysely, sql } from "kysely";
import { isOfPg } from "./own-types.ts";

/** A statement without parameters, or settings of the server for the rest of the transaction. */
export type Step = string | Readonly<Record<string, string | number>>;

/** The steps as one message of the simple protocol. */
export function inOneMessage(steps: readonly Step[]): string {
  return steps
    .flatMap((step) => (typeof step === "string" ? [step] : Object.entries(step).map(setLocal)))
    .join(";\n"); // a statement may end with a comment
}

function setLocal([name, value]: readonly [string, string | number]): string {
  return `set local ${name} = ${value}`;
}

/**
 * Runs the steps: with `pg` as one message. Another driver may prepare each message, as kysely-postgres-js does since 5.0: then a message
 * has one statement, and settings are parameters, since the driver keeps each text that it has prepared.
 */
export async function runSteps(db: Kysely<unknown>, steps: readonly Step[]): Promise<void> {
  if (await isOfPg(db)) {
    await sql.raw(inOneMessage(steps)).execute(db);
    return;
  }
  for (const step of steps) {
    const statement = typeof step === "string" ? sql.raw(step) : sql`select ${sql.join(setConfigs(step))}`;
    await statement.execute(db);
  }
}

function setConfigs(settings: Exclude<Step, string>) {
  return Object.entries(settings).map(([name, value]) => sql`set_config(${name}, ${String(value)}, true)`);
}
