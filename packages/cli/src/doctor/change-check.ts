import { changeText } from "../endpoint/change-text.ts";
import { isKeyStore } from "../set-up/key-place.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, failed } from "./check.ts";

/** Fails while a change of the keys is under way: if its run was killed, somebody has to finish it. Undefined if none is. */
export async function checkChange({ secret }: SetUp): Promise<Check | undefined> {
  if (!isKeyStore(secret)) return undefined;
  const stored = await secret.read().catch(() => undefined); // the check of the secret says why
  const change = stored?.record.change;
  if (change === undefined) return undefined;
  const { problem, remedy } = changeText(change);
  return failed("change", `${problem} ${remedy}`);
}
