import type { SetUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import { hearWarnings } from "../program/warnings.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { type Check, check, wrong } from "./check.ts";
import { checkConfig, checkHandlers, checkNode, checkSecret } from "./set-up-checks.ts";
import { checkStores } from "./store-checks.ts";

export interface DoctorFlags extends SetUpFlags {
  readonly json?: boolean;
}

/** Looks at everything that receiving and working need, and says what to do where something is not as it must be. */
export async function doctor(this: CliContext, flags: DoctorFlags): Promise<void> {
  const warnings: Check[] = [];
  hearWarnings(({ code, message, isOurs }) => {
    if (isOurs)
      warnings.push(wrong(code, message)); // of retention, of a key file's mode
    else this.output.note(`Warning (${code}): ${message}`);
  });
  const checks = [checkNode(process.version), ...(await checkSetUp(this, flags))];
  await new Promise(setImmediate); // warnings come after what they are about
  const all = [...checks, ...warnings];
  if (all.some(({ ok }) => !ok)) this.process.exitCode = exitCodes.problem;
  if (flags.json) this.output.json({ ok: all.every(({ ok }) => ok), checks: all });
  else for (const one of all) show(this.output, one);
}

async function checkSetUp(context: CliContext, flags: DoctorFlags): Promise<readonly Check[]> {
  const read: { setUp?: SetUp } = {};
  const config = await check("config", async () => {
    read.setUp = await readSetUp(context, flags);
    return checkConfig(read.setUp);
  });
  const { setUp } = read;
  if (setUp === undefined) return [config];
  return [
    config,
    await check("secret", () => checkSecret(setUp)),
    await check("handlers", () => checkHandlers(setUp)),
    ...(await checkStores(setUp)),
  ];
}

function show(output: Output, { name, ok, message }: Check): void {
  const mark = ok ? output.style("green", "✔ ok") : output.style("red", "✘   ");
  output.data(`${mark}  ${output.style("bold", name.padEnd(9))} ${printable(message)}`);
}
