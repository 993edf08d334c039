import { completions } from "./editors/completions.ts";
import { descriptions, descriptionsOfTypes } from "./editors/descriptions.ts";
import { describeInEditor } from "./editors/in-editor.ts";
import { openTypeScript5 } from "./editors/typescript-5.ts";
import { openTypeScript7 } from "./editors/typescript-7.ts";

// its language server describes no keys of handlers yet
describeInEditor("TypeScript 7", openTypeScript7, (editor) => {
  completions(editor);
  descriptions(editor);
});

// it takes four times as long: the other calls are in editors.lab.test.ts
describeInEditor("TypeScript 5.9", openTypeScript5, (editor) => {
  completions(editor, ["webhookRouter", "webhookPlugin", "defineConfig"]);
  descriptions(editor);
  descriptionsOfTypes(editor);
});
