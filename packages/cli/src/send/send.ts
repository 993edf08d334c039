import { randomUUID } from "node:crypto";
import { type Catalog, esimCatalog } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import { signedRequest } from "@esim-webhooks/core/testing";
import type { CliContext, Output } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { knownSecrets, requiredSecret, signingSecret } from "../set-up/known-secrets.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { eventToSend, unknownFieldNotes } from "./event-data.ts";
import { type Expectation, expected, hintOf } from "./expectation.ts";
import type { SendFlags } from "./flags.ts";
import { type Answer, post } from "./post.ts";
import { readInput } from "./read-input.ts";
import { receiverUrl, urlOfServe } from "./receiver-url.ts";

/** Sends signed deliveries one after the other, and shows the answers. */
export async function send(this: CliContext, flags: SendFlags, type: string): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const url = receiverUrl(flags.url ?? urlOfServe(setUp, this.process), "--url");
  const secret = signingSecret(await knownSecrets(requiredSecret(setUp)), this.now());
  const eventFlags = {
    body: flags.body === undefined ? undefined : await readInput(this, flags.body),
    fields: flags.data ?? [],
  };
  const event = eventToSend(type, eventFlags, setUp.catalog ?? (esimCatalog as Catalog<unknown>));
  for (const note of unknownFieldNotes(type, eventFlags)) this.output.note(note);
  const { fault } = flags;
  const isDuplicate = fault === "duplicate";
  const times = Math.max(flags.times ?? 1, isDuplicate ? 2 : 1);
  const sameId = flags.id ?? (isDuplicate ? newId() : undefined);
  // a repeated id needs the same body, and so the same timestamp
  const repeated =
    sameId === undefined
      ? {}
      : { id: sameId, timestamp: event.timestamp ?? new Date(this.now()).toISOString() };

  for (let index = 0; index < times; index++) {
    const delivery = { ...event, id: newId(), ...repeated };
    // signedRequest's own fault `duplicate` has a fixed id; here the first delivery must be new
    const request = signedRequest(delivery, { secret, ...(fault && !isDuplicate && { fault }) });
    const answer = await post(url, request, "--url");
    const expectation = expected(fault, index);
    if (!expectation.isMet(answer)) this.process.exitCode = exitCodes.problem;
    show(this.output, { id: delivery.id, type, answer, expectation }, flags);
  }
}

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly answer: Answer;
  readonly expectation: Expectation;
}

function show(output: Output, { id, type, answer, expectation }: Shown, { fault, json }: SendFlags): void {
  const asExpected = expectation.isMet(answer);
  const expected = expectation.text;
  if (json) {
    output.json({ id, type, ...(fault && { fault }), ...answer, expected, asExpected });
    return;
  }
  const mark = `${asExpected ? "✔" : "✘"} ${answer.status}`;
  const about = output.style("dim", `${id}  ${answer.ms} ms`);
  const wanted = asExpected ? "" : output.style("yellow", `  expected ${expected}`);
  const body = shortened(printable(answer.body.trim()));
  output.data(`${output.style(asExpected ? "green" : "red", mark)}  ${body}  ${about}${wanted}`);
  const hint = asExpected ? undefined : hintOf(answer, "--url");
  if (hint !== undefined) output.note(hint);
}

function newId(): string {
  return `msg_${randomUUID()}`;
}
