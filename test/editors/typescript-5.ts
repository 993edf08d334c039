import { join } from "node:path";
import ts from "typescript-classic";
import { atCursors, type OpenEditor } from "./editor.ts";

/** TypeScript 5.9, by its language service. */
export const openTypeScript5: OpenEditor = async (folder) => {
  const file = join(folder, "user.ts");
  const { config } = ts.readConfigFile(join(folder, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  let open = { text: "", version: 0 };
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(open.version) : "0"),
    getScriptSnapshot(name) {
      const text = name === file ? open.text : ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    ...(ts.sys.realpath && { realpath: ts.sys.realpath }),
  });
  const show = (text: string) => {
    open = { text, version: open.version + 1 };
  };
  function showAtCursors(source: string): readonly number[] {
    const { text, positions } = atCursors(source);
    show(text);
    return positions;
  }
  return {
    async complete(source) {
      const [position = 0] = showAtCursors(source);
      return service.getCompletionsAtPosition(file, position, {})?.entries.map(({ name }) => name) ?? [];
    },
    async describe(source) {
      return showAtCursors(source).map((position) =>
        ts.displayPartsToString(service.getQuickInfoAtPosition(file, position)?.documentation),
      );
    },
    async problems(source) {
      show(source);
      return [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)].map(
        ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"),
      );
    },
    close: async () => service.dispose(),
  };
};
