import { esimCatalog } from "@esim-webhooks/core";
import { acknowledgeDrift, driftText, readDrift, type SeenType } from "@esim-webhooks/core/drift";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import { matchingTypes } from "../flags/types-flag.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { findDriftState } from "../set-up/drift-state.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import type { DriftFlags } from "./flags.ts";

/** Lists how events differ from the catalog. Ends with 3 if there is a finding, unless `--acknowledge` ends it. */
export async function drift(this: CliContext, flags: DriftFlags): Promise<void> {
  const { output, process } = this;
  const { types, acknowledge = false } = flags;
  await withSeenTypes(this, flags, async (seen, end) => {
    const chosen = seen.filter(
      ({ type, findings }) =>
        findings.length > 0 &&
        (types === undefined || types.some((name) => matchingTypes(name, [type]).length > 0)),
    );
    const found = chosen.flatMap(({ type, findings }) => findings.map((finding) => ({ type, ...finding })));
    if (acknowledge) await end(chosen.map(({ type }) => type));
    else if (found.length > 0) process.exitCode = exitCodes.problem;
    if (flags.json) return output.json(found);
    const rows = found.map(({ type, ...finding }) => [minuteOf(finding.since), driftText(type, finding)]);
    for (const line of rows.length === 0 ? [] : table([{ title: "SINCE" }, { title: "FOUND" }], rows))
      output.data(line);
    output.note(noteOf(found.length, seen, acknowledge));
  });
}

function noteOf(found: number, seen: readonly SeenType[], acknowledge: boolean): string {
  if (acknowledge) return `${counted(found, "finding was", "findings were")} acknowledged.`;
  if (found > 0)
    return "Check your handlers. When they are right: esim-webhooks events drift --acknowledge. A new type as code: esim-webhooks events describe <type>";
  const deliveries = seen.reduce((sum, each) => sum + each.seen, 0);
  return deliveries === 0
    ? "No delivery was seen yet. serve looks at each one, and so do receivers with the option drift."
    : `Nothing new in ${counted(deliveries, "delivery", "deliveries")}.`;
}

/** `2026-11-20 14:03Z` */
export function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace("T", " ")}Z`;
}

/** Runs `use` with what was seen of events. Its `end` acknowledges the findings of the given types. */
export async function withSeenTypes(
  context: CliContext,
  flags: SetUpFlags,
  use: (seen: readonly SeenType[], end: (types: readonly string[]) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  const open = await findDriftState(setUp);
  if (open === undefined) return use([], async () => {});
  const { state, close } = open;
  try {
    const seen = await readDrift(state, setUp.catalog ?? esimCatalog);
    await use(seen, (types) => acknowledgeDrift(state, types));
  } finally {
    await close();
  }
}
