import { expect, it } from "vitest";
import { readEvents } from "../scripts/docs/events-page.ts";
import { describeInEditors } from "./editors/in-editors.ts";
import { openTypeScript7 } from "./editors/typescript-7.ts";

const events = readEvents();
const reasonOfFault = events
  .find(({ type }) => type === "esim.faulted")
  ?.fields.find(({ name }) => name === "reason");

function handling(handler: string): string {
  return `import { webhookHandler } from "@esim-webhooks/core";\nwebhookHandler({ ${handler} });`;
}

describeInEditors((editor, open) => {
  it("data.reason of a fault says that one reason is final, and what each means, in the words of docs/events.md", async () => {
    const shown = await editor().describe(handling('"esim.faulted": ({ data }) => data.▮reason'));
    expect(shown).toContain("Only `download_order_expired` is final");
    expect(shown).toContain(reasonOfFault?.doc);
  });

  it.each(events)("every field of $type has its description", async ({ type, fields }) => {
    for (const { name, doc } of fields) {
      expect(await editor().describe(handling(`"${type}": ({ data }) => data.▮${name}`)), name).toContain(
        doc,
      );
    }
  });

  // the language server of TypeScript 7 shows no descriptions of such keys yet
  it.skipIf(open === openTypeScript7).each(events)(
    "the key of a handler of $type says when the event is sent",
    async ({ type, doc }) => {
      expect(await editor().describe(handling(`▮"${type}": () => {}`))).toContain(doc);
    },
  );
});
