import { type Application, type CommandContext, generateHelpTextForAllCommands, run } from "@stricli/core";
import { describe, expect, it } from "vitest";
import { createApp } from "../src/app.ts";
import { commands as listed } from "../src/commands.ts";
import type { CliProcess } from "../src/program/context.ts";
import { cli, folder } from "./cli.ts";

const whole = await createApp(process as CliProcess);
const commands = generateHelpTextForAllCommands(whole as unknown as Application<CommandContext>);

describe("the program", () => {
  it("prints its version and nothing else", async () => {
    const { code, stdout, stderr } = await cli(["--version"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("lists its commands in --help", async () => {
    const { stdout } = await cli(["--help"]);
    for (const name of [
      "serve",
      "work",
      "send",
      "verify",
      "import",
      "inbox",
      "dashboard",
      "api",
      "events",
      "listen",
      "sandbox",
      "migrate",
      "doctor",
      "completion",
    ])
      expect(stdout).toContain(`  ${name}`);
  });

  it("lists commands in the same way whether they are loaded or not", async () => {
    const written: string[] = [];
    const stdout = { write: (text: string) => void written.push(text) };
    const context = { process: { stdout, stderr: stdout, env: {} } };
    await run(whole as unknown as Application<CommandContext>, ["--help"], context);
    expect((await cli(["--help"])).stdout).toBe(written.join(""));
    for (const { brief, load } of Object.values(listed)) expect((await load()).brief).toBe(brief);
  });

  it.each(commands.map(([route]) => [route]))(
    "breaks no word of the help of %s at 60 columns",
    async (route) => {
      const args = [...route.split(" ").slice(1), "--help"];
      const { stdout } = await cli(args, { env: { COLUMNS: "60" } });
      expect(stdout.split("\n").filter((line) => line.length > 60)).toEqual([]);
    },
  );

  it("names the value of each flag that takes one", async () => {
    const { stdout } = await cli(["send", "--help"]);
    for (const flag of [
      "--url <url>",
      "--data <name=value>",
      "--body <file>",
      "--fault <fault>",
      "--times <number>",
    ])
      expect(stdout).toContain(`\n  ${flag} `);
    expect(stdout).toMatch(/--json {2,}Print JSON/);
  });

  it("has no flag that takes a secret, which other processes could read", () => {
    const flags = commands.flatMap(([, text]) => text.match(/--[\w-]+(?: <\w+>)?/g) ?? []);
    expect(flags).toContain("--checkpoint <file>");
    const harmless = /^--(?:print-secret|secret-form|key-file(?: <file>)?)$/; // a switch, a choice, and the name of a file
    const suspicious = flags.filter((flag) => /secret|key|password|token|database/.test(flag));
    expect(suspicious.filter((flag) => !harmless.test(flag))).toEqual([]);
  });

  it.each(commands.map(([route]) => [route]))("has a --help with examples for %s", async (route) => {
    const { code, stdout, stderr } = await cli([...route.split(" ").slice(1), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/EXAMPLES\n {2}\S/);
  });

  it.each([
    [["srve"], 'There is no command "srve". Did you mean `serve`?'],
    [["serve", "--prot", "3"], "There is no flag --prot. Did you mean --port?"],
    [["serve", "--port", "many"], '--port: "many" is not a whole number from 0 to 65535. Correct it.'],
    [["serve", "--port"], "--port needs a value. Write --port <value>."],
    [["inbox", "pause"], "--reason needs a value. Write --reason <value>."],
    [
      ["send", "esim.enabled", "--fault", "tamperd"],
      "--fault tamperd is not possible. Write one of: tampered, stale, ",
    ],
    [["inbox", "list", "--since", "noon"], '--since: "noon" is not a point in time. Write how long ago'],
    [["send"], "The argument <type> is missing."],
    [["doctor", "all"], '"all" is one argument too many. Remove it.'],
  ])("ends with 2 for a wrong call: %j", async (args, message) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Error (invalid_usage): ");
    expect(stderr).toContain(message);
  });

  it("prints an error with its code, and with its stack only when ESIM_WEBHOOKS_DEBUG is set", async () => {
    const quiet = await cli(["serve"], { env: { ESIM_WEBHOOK_SECRET: "whsec_short" } });
    expect(quiet).toMatchObject({ code: 2, stdout: "" });
    expect(quiet.stderr).toMatch(/^Error \(invalid_secret\): .+\n$/);
    const debugged = await cli(["serve"], {
      env: { ESIM_WEBHOOK_SECRET: "whsec_short", ESIM_WEBHOOKS_DEBUG: "1" },
    });
    expect(debugged.stderr).toMatch(/\n {6}at /);
  });

  it("prints no personal data, no control characters and no secret of an unexpected error, with its stack or without", async () => {
    const text = String.raw`"no SIM 8932042000001234567 \u001b[31m at LPA:1$smdp.example.com$SECRET" + process.env.ESIM_CLIENT_SECRET`;
    const cause = String.raw`Object.assign(new Error("NOAUTH \u001b]0;title\u0007"), { command: { name: "auth", args: ["hidden-secret"] } })`;
    const error = `new Error(${text}, { cause: ${cause} })`;
    const cwd = folder({
      "esim-webhooks.config.mjs": `export default { secret: { load: () => { throw ${error}; } } };`,
    });
    const env = { ESIM_WEBHOOK_SECRET: "", ESIM_CLIENT_SECRET: "hidden-secret" };
    for (const debug of ["", "1"]) {
      const { code, stderr } = await cli(["send", "esim.enabled"], {
        cwd,
        env: { ...env, ESIM_WEBHOOKS_DEBUG: debug },
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^Error \(unexpected\): no SIM ••• \ufffd\[31m at •••\. Set/);
      expect(stderr.includes("\n    cause: NOAUTH \ufffd]0;title\ufffd\n      at ")).toBe(debug === "1");
      expect(stderr).not.toMatch(/(?!\n)\p{Cc}|hidden/u);
    }
  });

  it("has colours only on a terminal or with FORCE_COLOR", async () => {
    const colour = "\u001b[";
    const call = ["doctor"];
    expect((await cli(call)).stdout).not.toContain(colour);
    expect((await cli(call, { env: { FORCE_COLOR: "1" } })).stdout).toContain(colour);
    expect((await cli(call, { env: { FORCE_COLOR: "0", NO_COLOR: "1" } })).stdout).not.toContain(colour);
  });

  it("completes commands, flags and values for a shell", async () => {
    const next = async (words: readonly string[], line: string) =>
      (await cli(["__complete", ...words], { env: { COMP_LINE: line } })).stdout.trim().split("\n");
    expect(await next(["esim-webhooks", "ser"], "esim-webhooks ser")).toEqual(["serve"]);
    expect(await next(["esim-webhooks", "send", "x", "--fa"], "esim-webhooks send x --fa")).toEqual([
      "--fault",
    ]);
    expect(await next(["esim-webhooks", "send", "x", "--fault"], "esim-webhooks send x --fault ")).toContain(
      "tampered",
    );
  });
});
