import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "@esim-webhooks/core";
import { exitCodes } from "../../packages/cli/src/program/exit-code.ts";
import { replyTo } from "../../packages/core/src/receive/reply.ts";
import * as postgres from "../../packages/store-postgres/src/database/migrations.ts";
import * as sqlite from "../../packages/store-sqlite/src/database/migrations.ts";
import { readLogLines } from "../docs/log-lines.ts";
import { readMetrics } from "../docs/metrics-page.ts";
import { packageExports, root } from "../docs/read-types.ts";

/** The promises of one kind to users, by package and name, with the value that must stay: `core: busy` → `503`. */
export type Surface = Readonly<Record<string, string>>;

/** Everything that docs/compatibility.md promises. */
export const surfaces: Readonly<Record<string, () => Surface>> = {
  api: api,
  "error-codes": errorCodes,
  "status-contract": statusContract,
  schema: schema,
  "log-fields": logFields,
  "exit-codes": () => named("cli", Object.entries(exitCodes)),
  "metric-names": metricNames,
};

const fileOf = (kind: string): string => join(root, "test/compatibility", `${kind}.json`);

/** A surface as the last release had it. */
export function released(kind: string): Surface {
  return JSON.parse(readFileSync(fileOf(kind), "utf8"));
}

/** Keeps the surfaces as they are now: they are those of a release. */
export function keepSurfaces(): void {
  mkdirSync(join(root, "test/compatibility"), { recursive: true });
  for (const [kind, read] of Object.entries(surfaces))
    writeFileSync(fileOf(kind), `${JSON.stringify(read(), null, 2)}\n`);
}

function named(of: string, entries: Iterable<readonly [name: string, value: unknown]>): Surface {
  const sorted = [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, value]) => [`${of}: ${name}`, String(value)]));
}

const packageOf = (module: string): string => module.split("/")[1] ?? "";

/**
 * Every name that can be imported and every member of an interface, as users see them declared, and every option of every function: those
 * of interfaces that are not exported, too. `internal` and `log-lines` are for the packages of this repository: they may change.
 */
function api(): Surface {
  const { declarations, functionsWithOptions } = packageExports();
  const internal = ["@esim-webhooks/core/internal", "@esim-webhooks/core/log-lines"];
  const isPublic = (module: string) => !internal.includes(module);
  const exported = [...declarations()]
    .filter(([module]) => isPublic(module))
    .map(([module, found]) =>
      named(
        packageOf(module),
        [...found].flatMap(([name, { text, members }]) => [
          [`${name} of ${module}`, text] as const,
          ...Array.from(members, ([member, type]) => [`${member} of ${name}`, type] as const),
        ]),
      ),
    );
  const options = functionsWithOptions()
    .filter(({ module }) => isPublic(module))
    .map(({ module, name, options }) =>
      named(
        packageOf(module),
        options.map(
          (it) =>
            [`${it.name} of ${name}`, `${it.optional ? "optional" : "required"}: ${it.declared}`] as const,
        ),
      ),
    );
  return Object.assign({}, ...exported, ...options);
}

function errorCodes(): Surface {
  const codes = [...packageExports().names()].flatMap(([module, names]) =>
    [...names]
      .filter(([name]) => name.endsWith("ErrorCode"))
      .map(([, found]) =>
        named(
          packageOf(module),
          found.map((code) => [code, "thrown"]),
        ),
      ),
  );
  return Object.assign({}, ...codes);
}

function statusContract(): Surface {
  const codes = packageExports().names().get("@esim-webhooks/core")?.get("OutcomeCode") ?? [];
  return named(
    "core",
    codes.map(
      (code) =>
        [code, replyTo({ code, retryAfterMs: 1000, issues: [] } as unknown as Outcome).status] as const,
    ),
  );
}

/** A migration that was released never changes: databases have it. */
function schema(): Surface {
  return {
    ...named(
      "store-postgres",
      postgres.migrations.map((migration, index) => [`migration ${index + 1}`, postgres.idOf(migration)]),
    ),
    ...named(
      "store-sqlite",
      sqlite.migrations.map((migration, index) => [`migration ${index + 1}`, sqlite.idOf(migration)]),
    ),
  };
}

/** The fields of the lines for each delivery and event, and all other fields of a package. The texts may change. */
function logFields(): Surface {
  const ofLine = ["webhook delivery", "webhook event"];
  const lines = readLogLines().map(({ package: of, message, fields }) => {
    const suffix = ofLine.includes(message) ? ` of "${message}"` : "";
    return named(
      of,
      fields.map((field) => [`${field.replace(/:.*/, "")}${suffix}`, "logged"] as const),
    );
  });
  return sorted(Object.assign({}, ...lines));
}

const sorted = (surface: Surface): Surface =>
  Object.fromEntries(Object.entries(surface).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** The instruments that `instrument` makes, with their units. */
function metricNames(): Surface {
  const kinds = readMetrics().map(
    ({ name, kind, unit }) => [name, unit === undefined ? kind : `${kind} ${unit}`] as const,
  );
  return named("otel", new Map(kinds));
}
