import { Readable } from "node:stream";
import { type Catalog, esimCatalog, type Secrets, WebhookError } from "@esim-webhooks/core";
import { type Explanation, explainVerification } from "@esim-webhooks/core/explain";
import { printable } from "@esim-webhooks/core/log-lines";
import { type CapturedRequest, type RecordFault, readCapturedRequests } from "@esim-webhooks/import";
import type { CliContext, Output } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { readInput } from "../send/read-input.ts";
import { givenSecret, knownSecrets } from "../set-up/known-secrets.ts";
import { readSetUp } from "../set-up/set-up.ts";
import type { VerifyFlags } from "./flags.ts";

/** Prints whether a captured request is authentic, and if not, why. */
export async function verify(this: CliContext, flags: VerifyFlags, file = "-"): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const secrets = (await knownSecrets(givenSecret(setUp))) ?? [];
  const captured = await readCaptured(await readInput(this, file));
  const at = flags.at ?? captured.receivedAt ?? new Date(this.now());
  const { body, explanation } = explain(captured, secrets, {
    at,
    ...(flags.tolerance !== undefined && { toleranceSeconds: flags.tolerance }),
  });
  const { verdict } = explanation;
  if (!verdict.ok) this.process.exitCode = exitCodes.problem;
  const report: Report = {
    authentic: verdict.ok,
    ...verdict,
    at: at.toISOString(),
    findings: explanation.findings,
    ...(captured.isGuess && !verdict.ok && { hint: rebuiltHint }),
    ...(verdict.ok && eventOf(verdict.id, body, setUp.catalog ?? (esimCatalog as Catalog<unknown>))),
  };
  if (flags.json) this.output.json(report);
  else show(this.output, report);
}

const rebuiltHint =
  "The body was captured as parsed JSON, so its bytes are a guess. Capture it as text or base64.";

interface Report extends Partial<EventReport> {
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

/** Explains the verification of the body that a key matches, else of the likeliest body. */
function explain(
  { headers, bodies }: Captured,
  secrets: Secrets,
  options: { at: Date; toleranceSeconds?: number },
): { body: Uint8Array; explanation: Explanation } {
  const candidates = bodies.map((body) => ({
    body,
    explanation: explainVerification({ headers, body }, secrets, options),
  }));
  const proven = candidates.find(
    ({ explanation: { verdict } }) => verdict.ok || verdict.code !== "no_matching_key",
  );
  return proven ?? (candidates[0] as (typeof candidates)[number]);
}

interface EventReport {
  readonly type: string | null;
  /** Whether the catalog contains the event's type, and whether the event matches its schema. */
  readonly event: "known" | "unknown" | "invalid";
  /** The paths that do not match the schema, without the schema's messages: they may quote personal data. */
  readonly issues?: readonly string[];
}

function eventOf(id: string, body: Uint8Array, catalog: Catalog<unknown>): EventReport {
  const parsed = catalog.parse(id, body);
  const { type, kind } = parsed;
  return { type, event: kind, ...(kind === "invalid" && { issues: parsed.issues.map(({ path }) => path) }) };
}

function show(output: Output, report: Report): void {
  const { authentic, id, key, at, type, event, issues = [], findings, hint } = report;
  if (authentic) {
    output.data(`${output.style("green", "✔ authentic")}  ${id}  signed with ${key}, verified at ${at}`);
    const paths = issues.length > 0 ? `: ${issues.join(", ")}` : "";
    const results = {
      known: "matches its schema",
      unknown: "a type that the catalog does not contain",
      invalid: `does not match its schema${paths}`,
    };
    if (event !== undefined)
      output.data(`  ${printable(type ?? "no envelope")}: ${printable(results[event])}`);
    return;
  }
  output.data(`${output.style("red", "✘ refused")}  ${report.code}: ${printable(report.reason)} (at ${at})`);
  for (const { code, message } of findings)
    output.data(`  ${output.style("bold", code)}: ${printable(message)}`);
  if (hint !== undefined) output.data(`  ${hint}`);
}

export type Captured = Omit<CapturedRequest, "payload">;

/** Reads the text of an HTTP request, or one captured request in any form that `import` reads. Throws `invalid_usage`. */
export async function readCaptured(bytes: Buffer): Promise<Captured> {
  if (bytes.toString("latin1").trim() === "") throw notCaptured("It is empty.");
  return readHttp(bytes) ?? (await readRecord(bytes));
}

async function readRecord(bytes: Buffer): Promise<Captured> {
  const [found, another] = await firstTwo(bytes);
  if (found === undefined) throw notCaptured("It is a list with nothing in it.");
  if (another !== undefined)
    throw notCaptured("It is a list of several requests, and only one can be verified at a time.");
  if ("fault" in found) throw notCaptured(`${found.reason.charAt(0).toUpperCase()}${found.reason.slice(1)}.`);
  return found;
}

async function firstTwo(bytes: Buffer): Promise<readonly (CapturedRequest | RecordFault)[]> {
  const found: (CapturedRequest | RecordFault)[] = [];
  try {
    for await (const one of readCapturedRequests(Readable.from([bytes]))) if (found.push(one) === 2) break;
    return found;
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    const isUnknown = error.code === "unknown_dump";
    throw notCaptured(isUnknown ? "It is neither JSON nor HTTP." : "It is damaged or incomplete.");
  }
}

/** Reads header lines, with or without a request line before them, an empty line, and the body; undefined if the header lines or the empty line are missing. */
function readHttp(bytes: Buffer): Captured | undefined {
  const text = bytes.toString("latin1"); // one character per byte: positions in text and bytes are the same
  const end = /\r?\n\r?\n/.exec(text);
  const head = text.slice(0, end?.index ?? text.length).trim();
  const lines = head.matchAll(/^([!#$%&'*+.^\w`|~-]+):[ \t]*(.*?)[ \t\r]*$/gm);
  const byName = Map.groupBy(lines, ([, name = ""]) => name.toLowerCase()); // a header may be named __proto__
  if (end === null || byName.size === 0) return undefined;
  const headers = [...byName].map(([name, values]) => [name, values.map(([, , value = ""]) => value)]);
  const bodies = [bytes.subarray(end.index + end[0].length)] as const;
  return { headers: Object.fromEntries(headers), bodies, isGuess: false, receivedAt: null };
}

function notCaptured(problem: string): Error {
  return invalidUsage(
    `This is not a captured request. ${problem}`,
    'Give { "headers": {…}, "body": "…", "receivedAt": "…" }, or the text of an HTTP request.',
  );
}
