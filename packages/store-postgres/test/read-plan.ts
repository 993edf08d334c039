import { expect } from "vitest";

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly Node[];
}

/** The plan of a statement, as the names of its scans. */
export interface Plan {
  readonly query: string;
  readonly scans: readonly string[];
  /** How many rows of tables the scans read, and the joins compared in vain. */
  readonly rows: number;
  /** It reads all rows before it returns the first one. */
  readonly sorts: boolean;
  /** How many pages of tables and indexes it read. */
  readonly pages: number;
}

/** Reads the plan of an executed statement from a notice of auto_explain. */
export function readPlan(notice: string): Plan | undefined {
  const json = /plan:\n(\{[\s\S]*\})$/.exec(notice)?.[1];
  if (json === undefined) return undefined;
  const { "Query Text": query, Plan: plan } = JSON.parse(json) as { "Query Text": string; Plan: Node };
  const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  return { query, scans: scansOf(plan), rows: rowsOf(plan), pages, sorts: sorts(plan) };
}

function sorts(node: Node): boolean {
  return node["Node Type"] === "Sort" || (node.Plans ?? []).some(sorts);
}

function scansOf(node: Node): string[] {
  const isScan = node["Relation Name"] === "event" && node["Node Type"] !== "ModifyTable";
  const own =
    isScan || node["Index Name"] !== undefined ? [`${node["Node Type"]} ${node["Index Name"] ?? ""}`] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

function rowsOf(node: Node): number {
  const perLoop = (node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0);
  const loops = node["Actual Loops"] ?? 1;
  const read = node["Index Name"] === undefined ? 0 : perLoop * loops;
  const compared = (node["Rows Removed by Join Filter"] ?? 0) * loops;
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsOf(plan), read + compared);
}

/** Expects that every scan of the table uses an index, and that `indexes` are used. */
export function expectIndexed(plans: readonly Plan[], ...indexes: readonly string[]): void {
  const scans = plans.flatMap((plan) => plan.scans);
  const bare = plans.filter((plan) => plan.scans.some((scan) => scan.startsWith("Seq Scan")));
  expect(bare).toEqual([]);
  for (const index of indexes) expect(scans.join("\n")).toContain(index);
}
