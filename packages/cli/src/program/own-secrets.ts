import { masked } from "@esim-webhooks/core/masking";

/** Our variables whose value is a secret of any form. */
const ownVariables = [
  "ESIM_CLIENT_SECRET",
  "ESIM_WEBHOOK_SECRET",
  "ESIM_TEST_CLIENT_SECRET",
  "ESIM_TEST_WEBHOOK_SECRET",
];
/** A shorter value may be a word of a message. */
const shortestOwn = 8;

/** Masks the secrets in our variables, as text and within JSON. Core's masking only knows the variables of the process. */
export function maskOwnSecrets(text: string, env: NodeJS.ProcessEnv): string {
  return ownVariables
    .flatMap((name) => env[name]?.trim().split(/\s+/) ?? [])
    .filter((value) => value.length >= shortestOwn)
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
    .reduce((shown, value) => shown.replaceAll(value, masked), text);
}
