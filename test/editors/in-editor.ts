import { afterAll, beforeAll, describe } from "vitest";
import { type Editor, type OpenEditor, userProject } from "./editor.ts";

/** Declares the tests of `declare` for an editor, which is open while they run. */
export function describeInEditor(
  typescript: string,
  open: OpenEditor,
  declare: (editor: () => Editor) => void,
): void {
  describe(`in an editor with ${typescript}`, () => {
    const { folder, remove } = userProject();
    let editor: Editor;

    beforeAll(async () => {
      editor = await open(folder);
    });

    afterAll(async () => {
      await editor.close();
      remove();
    });

    declare(() => editor);
  });
}
