import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cliProcess, folder } from "../cli.ts";

const name = "esim-webhooks.config.ts";

describe("a mistake in the set-up is told with what the user wrote:", () => {
  it.each([
    ["in TypeScript", name, "export default {\n  handlers: {{\n};", 2],
    ["in JavaScript", "esim-webhooks.config.mjs", "export default {\n  handlers: {{\n};", 2],
    ["of a file that the config imports", name, 'import "./handlers.ts";\nexport default {};', 3],
  ])("a syntax error %s, with its file and line", async (_, file, text, line) => {
    const cwd = folder({ [file]: text, "handlers.ts": "export const a = 1;\n\nexport const b = {{;\n" });
    const { code, stderr } = await cliProcess(["serve"], { cwd });
    expect(code).toBe(2);
    const wrong = text.includes("./handlers.ts") ? "handlers.ts" : file;
    expect(stderr).toMatch(/^Error \(invalid_config\): /);
    expect(stderr).toContain(`${join(cwd, wrong)}:${line}) Correct the file.`);
  });
});
