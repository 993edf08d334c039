import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { explainedEnsure } from "../../src/endpoint/explained-ensure.ts";

const keyStore = { read: async () => undefined, write: async () => true, load: async () => [] };

it.each<[EndpointErrorCode | "invalid_secret" | "invalid_option", string, string]>([
  ["invalid_secret", "Call it again with secretForm: hex.", "Call it again with --secret-form: hex."],
  ["not_settled", "With acceptLoss, it is deleted.", "With --accept-loss, it is deleted."],
  ["not_settled", "With since, events are tried.", "With --since, events are tried."],
  ["endpoint_cap", "api.webhooks.list shows them all.", "esim-webhooks api endpoints list shows them all."],
  [
    "endpoint_unknown",
    "Register one with ensureEndpoint.",
    "Register one with esim-webhooks endpoint ensure <url>.",
  ],
  ["no_watermark", "Pass since: when it began.", "Add --since: when it began."],
  ["invalid_option", "Pass secretForm.", "Pass secretForm."],
])(
  "an error %s of a registration with the remedy '%s' says on the command line: %s",
  async (code, remedy, said) => {
    const problem = "It could not be done.";
    const cause = new Error("why");
    const error = new WebhookError<string>(code, problem, remedy, { cause });
    expect(await explainedEnsure(error, keyStore)).toMatchObject({
      code,
      message: `${problem} ${said}`,
      cause,
    });
  },
);
