import { WebhookError } from "@esim-webhooks/core";

/** What the remedies of `@esim-webhooks/endpoint` name, and what stands for it on the command line. */
const words: readonly (readonly [string, string])[] = [
  ["checkReceivers: false", "--no-check"],
  ["secretForm", "--secret-form"],
  ["acceptLoss", "--accept-loss"],
  ["With since", "With --since"],
  ["Pass since", "Add --since"],
  ["ensureEndpoint", "esim-webhooks endpoint ensure <url>"],
  ["api.webhooks.list", "esim-webhooks api endpoints list"],
];

/** The same error, with flags and commands in place of the options and functions that its remedy names. */
export function withFlags({ code, message, cause }: WebhookError<string>): WebhookError<string> {
  const end = message.indexOf(". ") + 1;
  const remedy = words.reduce((text, [ours, theirs]) => text.replace(ours, theirs), message.slice(end + 1));
  return new WebhookError<string>(code, message.slice(0, end), remedy, { cause });
}
