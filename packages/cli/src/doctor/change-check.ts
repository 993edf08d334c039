import type { KeyRecord } from "@esim-webhooks/core";
import { isKeyStore } from "../endpoint/key-store-of.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, failed } from "./check.ts";

type Change = NonNullable<KeyRecord["change"]>;

/** Fails while a change of the keys is under way: if its run was killed, somebody has to finish it. Undefined if none is. */
export async function checkChange({ secret }: SetUp): Promise<Check | undefined> {
  if (!isKeyStore(secret)) return undefined;
  const stored = await secret.read().catch(() => undefined); // the check of the secret says why
  const change = stored?.record.change;
  if (change === undefined) return undefined;
  const { what, command } = describe(change);
  return failed("change", `${what} has begun and has not ended. If it is not running now, run: ${command}`);
}

function describe(change: Change): { readonly what: string; readonly command: string } {
  const { kind, endpoint, url = "<url>" } = change as Readonly<Record<string, unknown>>;
  switch (kind) {
    case "rotate":
      return {
        what: `A rotation of the endpoint ${endpoint}`,
        command: `esim-webhooks rotate --endpoint ${endpoint}`,
      };
    case "replace":
      return {
        what: `A replacement of the endpoint at ${url}`,
        command: `esim-webhooks endpoint ensure ${url} --replace`,
      };
    case "ensure":
      return {
        what: `A registration of the endpoint at ${url}`,
        command: `esim-webhooks endpoint ensure ${url}`,
      };
    default:
      return { what: "A change of the keys", command: "what began it" };
  }
}
