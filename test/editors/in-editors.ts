import { afterAll, beforeAll, describe } from "vitest";
import { type Editor, type OpenEditor, userProject } from "./editor.ts";
import { openTypeScript5 } from "./typescript-5.ts";
import { openTypeScript7 } from "./typescript-7.ts";

/** Declares the tests of `declare` for the editor of each TypeScript. The editor is open while its tests run. */
export function describeInEditors(declare: (editor: () => Editor, open: OpenEditor) => void): void {
  describe.each([
    ["TypeScript 5.9", openTypeScript5],
    ["TypeScript 7", openTypeScript7],
  ])("in an editor with %s", (_, open) => {
    const { folder, remove } = userProject();
    let editor: Editor;

    beforeAll(async () => {
      editor = await open(folder);
    });

    afterAll(async () => {
      await editor.close();
      remove();
    });

    declare(() => editor, open);
  });
}
