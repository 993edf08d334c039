import { completions } from "./editors/completions.ts";
import { describeInEditor } from "./editors/in-editor.ts";
import { openTypeScript5 } from "./editors/typescript-5.ts";

describeInEditor("TypeScript 5.9", openTypeScript5, (editor) => completions(editor));
