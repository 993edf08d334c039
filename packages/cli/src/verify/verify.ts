import {
  type Catalog,
  createKeyring,
  type Explanation,
  esimCatalog,
  explainVerification,
  type Secrets,
} from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import { readInput } from "../send/read-input.ts";
import { knownSecrets } from "../set-up/known-secrets.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { type Captured, readCaptured } from "./captured.ts";

export interface VerifyFlags {
  readonly config?: string;
  readonly at?: Date;
  readonly tolerance?: number;
  readonly json?: boolean;
}

/** Says whether a captured request is authentic, and why not. */
export async function verify(this: CliContext, flags: VerifyFlags, file = "-"): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const secrets = (await knownSecrets(setUp.secret)) ?? noSecret();
  const captured = readCaptured(await readInput(this, file));
  const at = flags.at ?? captured.receivedAt ?? new Date();
  const { body, explanation } = explain(captured, secrets, {
    at,
    ...(flags.tolerance !== undefined && { toleranceSeconds: flags.tolerance }),
  });
  const { verdict } = explanation;
  if (!verdict.ok) this.process.exitCode = exitCodes.problem;
  const found: Found = {
    authentic: verdict.ok,
    ...verdict,
    at: at.toISOString(),
    findings: explanation.findings,
    ...(captured.isGuess && !verdict.ok && { hint: rebuiltHint }),
    ...(verdict.ok && eventOf(verdict.id, body, setUp.catalog ?? (esimCatalog as Catalog<unknown>))),
  };
  if (flags.json) this.output.json(found);
  else show(this.output, found);
}

const rebuiltHint =
  "The body was captured as parsed JSON, so its bytes are a guess. Capture it as text, or in base64.";

interface Found extends Partial<EventFound> {
  readonly authentic: boolean;
  /** The code of the refusal. */
  readonly code?: string;
  readonly reason?: string;
  readonly id?: string;
  readonly key?: string;
  readonly at: string;
  readonly findings: Explanation["findings"];
  readonly hint?: string;
}

/** Without secrets there is nothing to verify with: says so. */
function noSecret(): Secrets {
  createKeyring(undefined);
  return [];
}

/** What is found with the body that verifies, or with the likeliest one. */
function explain(
  { headers, bodies }: Captured,
  secrets: Secrets,
  options: { at: Date; toleranceSeconds?: number },
): { body: Uint8Array; explanation: Explanation } {
  const tries = bodies.map((body) => ({
    body,
    explanation: explainVerification({ headers, body }, secrets, options),
  }));
  const proven = tries.find(({ explanation }) => explanation.verdict.ok);
  return proven ?? (tries[0] as (typeof tries)[number]);
}

interface EventFound {
  readonly type: string | null;
  /** What the catalog makes of it. */
  readonly event: "known" | "unknown" | "invalid";
  /** Where it is not what its schema says. Paths alone: a schema's messages may quote personal data. */
  readonly issues?: readonly string[];
}

function eventOf(id: string, body: Uint8Array, catalog: Catalog<unknown>): EventFound {
  const parsed = catalog.parse(id, body);
  const { type, kind } = parsed;
  return { type, event: kind, ...(kind === "invalid" && { issues: parsed.issues.map(({ path }) => path) }) };
}

function show(output: Output, found: Found): void {
  const { authentic, id, key, at, type, event, issues = [], findings, hint } = found;
  if (authentic) {
    output.data(`${output.style("green", "✔ authentic")}  ${id}  signed with ${key}, verified at ${at}`);
    const wrong = issues.length > 0 ? `: ${issues.join(", ")}` : "";
    const told = {
      known: "as its schema says",
      unknown: "a type that the catalog does not have",
      invalid: `not what its schema says${wrong}`,
    };
    if (event !== undefined) output.data(`  ${printable(type ?? "no envelope")}: ${printable(told[event])}`);
    return;
  }
  output.data(`${output.style("red", "✘ refused")}  ${found.code}: ${printable(found.reason)} (at ${at})`);
  for (const { code, message } of findings)
    output.data(`  ${output.style("bold", code)}: ${printable(message)}`);
  if (hint !== undefined) output.data(`  ${hint}`);
}
