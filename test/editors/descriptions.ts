import { expect, it } from "vitest";
import { readEvents } from "../../scripts/docs/events-page.ts";
import type { Editor } from "./editor.ts";

const events = readEvents();
const reasonOfFault = events
  .find(({ type }) => type === "esim.faulted")
  ?.fields.find(({ name }) => name === "reason");

function handling(handler: string): string {
  return `import { webhookHandler } from "@esim-webhooks/core";\nwebhookHandler({ ${handler} });`;
}

/** Declares the tests of what is said of the data of an event. */
export function descriptions(editor: () => Editor): void {
  it("data.reason of a fault says that one reason is final, and what each means, in the words of docs/events.md", async () => {
    const [shown] = await editor().describe(handling('"esim.faulted": ({ data }) => data.▮reason'));
    expect(shown).toContain("Only `download_order_expired` is final");
    expect(shown).toContain(reasonOfFault?.doc);
  });

  it.each(events)("every field of $type has its description", async ({ type, fields }) => {
    const names = fields.map(({ name }) => `data.▮${name}`);
    const shown = await editor().describe(handling(`"${type}": ({ data }) => [${names}]`));
    for (const [index, { name, doc }] of fields.entries()) expect(shown[index], name).toContain(doc);
  });
}

/** Declares the tests of what is said of an event where its handler is. */
export function descriptionsOfTypes(editor: () => Editor): void {
  it("the key of a handler of each type says when the event is sent", async () => {
    const shown = await editor().describe(handling(events.map(({ type }) => `▮"${type}": () => {}`).join()));
    for (const [index, { type, doc }] of events.entries()) expect(shown[index], type).toContain(doc);
  });
}
