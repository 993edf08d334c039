import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cli, folder } from "../cli.ts";

const name = "esim-webhooks.config.ts";

describe("a mistake in the set-up is told with what the user wrote:", () => {
  it("no secret, without a word of what functions take", async () => {
    const env = { ESIM_WEBHOOK_SECRET: " " };
    const without =
      "There is no signing secret, so no delivery could be signed or verified. Set ESIM_WEBHOOK_SECRET to the endpoint's signingSecret (whsec_…), or give";
    const such = 'a secret, such as secret: fileKeySource("esim.key").\n';
    for (const command of ["serve", "verify", "send esim.faulted"]) {
      const { code, stderr } = await cli(command.split(" "), { env });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `Error (missing_secret): ${without} a config file ${such}`,
      });
    }
    const cwd = folder({ [name]: "export default { port: 0 };" });
    const { stderr } = await cli(["serve"], { cwd, env });
    expect(stderr).toBe(`Error (missing_secret): ${without} ${join(cwd, name)} ${such}`);
  });

  it("a secret that cannot be right, with the variable or the file that holds it", async () => {
    const variable = await cli(["serve"], { env: { ESIM_WEBHOOK_SECRET: "whsec_short" } });
    expect(variable.stderr).toMatch(/^Error \(invalid_secret\): ESIM_WEBHOOK_SECRET: A signing secret /);
    const cwd = folder({ [name]: 'export default { secret: "whsec_short" };' });
    const file = await cli(["send", "esim.faulted"], { cwd, env: { ESIM_WEBHOOK_SECRET: "" } });
    expect(file.stderr).toContain(`Error (invalid_secret): ${join(cwd, name)}: A signing secret `);
  });

  it("an option of the wrong type, with the file and one remedy", async () => {
    const cwd = folder({ [name]: 'export default { port: "3000" };' });
    const { stderr } = await cli(["serve"], { cwd });
    expect(stderr).toBe(
      `Error (invalid_config): ${join(cwd, name)}: "port": Invalid input: expected number, received string. Correct it in that file.\n`,
    );
  });

  it("an option that belongs into another part of the config, with the part", async () => {
    const cwd = folder({ [name]: "export default { maxBodyBytes: 5 };" });
    const { stderr } = await cli(["serve"], { cwd });
    expect(stderr).toMatch(/there is no option "maxBodyBytes"\. There are: .+ go into receiver: \{ … \}/);
  });

  it("a handler of an unknown type and a misspelt option of the worker, with the file", async () => {
    const types = folder({ [name]: 'export default { handlers: { "esim.fautled": () => {} } };' });
    const type = await cli(["serve"], { cwd: types });
    expect(type.stderr).toContain(`${join(types, name)}: There is a handler for "esim.fautled"`);
    const options = folder({
      [name]: 'export default { handlers: { "*": () => {} }, worker: { concurency: 3 } };',
    });
    const option = await cli(["work"], { cwd: options });
    expect(option).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `${join(options, name)}: there is no option "concurency". Did you mean "concurrency"?`,
      ),
    });
  });

  it("a DATABASE_URL that is not of Postgres, by its name and without its value", async () => {
    for (const url of ["mysql://me:hidden@db/shop", "hidden", "postgres://me:hid/den@db:port/shop"]) {
      const { code, stderr } = await cli(["serve"], { env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /^Error \(invalid_usage\): DATABASE_URL is not a postgres:\/\/ URL\. Write postgres:\/\//,
        ),
      });
      expect(stderr).not.toContain("hid");
    }
  });

  it("a password, wherever it was written, in no message, cause, stack or log line", async () => {
    const direct = 'new URL("redis://me:hidden@cache:99999"); export default {};';
    const store =
      'import { redisStore } from "@esim-webhooks/store-redis"; redisStore("redis://me:hidden@cache:99999"); export default {};';
    const late =
      'export default { target: { put() {}, async ready() { throw new Error("no redis://me:hidden@cache"); } } };';
    for (const debug of ["", "1"]) {
      const env = { ESIM_WEBHOOKS_DEBUG: debug };
      const ended = await Promise.all([
        cli(["serve"], { env, cwd: folder({ [name]: direct }) }),
        cli(["serve"], { env, cwd: folder({ [name]: store }) }),
        cli(["serve"], { env, cwd: folder({ [name]: late }) }),
        cli(["doctor"], { env, cwd: folder({ [name]: late }) }),
        cli(["serve"], { env: { ...env, DATABASE_URL: "host=db password=hidden" } }),
        cli(["serve"], { env: { ...env, DATABASE_URL: "postgres://me:1/hidden@127.0.0.1:1/shop" } }),
        cli(["inbox", "copy", "postgres://me:hidden@db/shop"], { env }),
        cli(["inbox", "copy", "--too=postgres://me:hidden@db/shop"], { env }),
        cli(["inbox", "copy", "--to", "postgres://me:hidden@db:port/shop"], { env }),
        cli(["postgres://me:hidden@db/shop"], { env }),
      ]);
      for (const { code, stdout, stderr } of ended) {
        expect(code).not.toBe(0);
        expect(`${stdout}${stderr}`).not.toContain("hidden");
      }
      expect(ended[0]?.stderr).toMatch(debug === "1" ? /\n {6}at / : /^.+\n$/);
      expect(ended[1]?.stderr).toContain("The redis:// URL that redisStore was given cannot be read.");
    }
  });

  it.each([["serve"], ["inbox list"], ["migrate"]])(
    "a Postgres that does not answer, by its address, with DATABASE_URL and the cause (%s)",
    async (command) => {
      const env = { DATABASE_URL: "postgres://me:hidden@127.0.0.1:1/shop" };
      const { code, stderr } = await cli(command.split(" "), { env });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          "Error (store_unavailable): Postgres at 127.0.0.1:1/shop cannot be reached, or refused what it was asked. " +
          "Check that it runs, and the host, the user, the password and the database in DATABASE_URL. " +
          "Cause: connect ECONNREFUSED 127.0.0.1:1.\n",
      });
    },
  );

  it.runIf(process.platform === "linux")("a folder that cannot be made, at once", async () => {
    const { code, stderr } = await cli(["serve", "--data-dir", "/proc/esim-webhooks"]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "The folder /proc/esim-webhooks cannot be created (ENOENT). Name another folder with --data-dir",
    );
  });
});
