import { describe, expect, it } from "vitest";
import { cli, folder } from "../cli.ts";
import { startService } from "./service.ts";

const call = ["api", "client"];

describe("the set-up of api", () => {
  it("names every variable that is missing, and where to get credentials to try it out", async () => {
    const { code, stdout, stderr } = await cli(call);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      "Error (missing_credentials): ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET are not set. Set them, or give a config file the same as api: { baseUrl, clientId, clientSecret }. To try it out, start esim-webhooks sandbox: it prints the command that writes all three into a file.\n",
    );
  });

  it("names the only variable that is missing", async () => {
    const env = {
      ESIM_API_URL: "http://127.0.0.1:9/api/v3",
      ESIM_CLIENT_ID: "123456",
      ESIM_CLIENT_SECRET: " ",
    };
    const { code, stderr } = await cli(call, { env });
    expect(code).toBe(2);
    expect(stderr).toContain("Error (missing_credentials): ESIM_CLIENT_SECRET is not set. Set it, or");
  });

  it("takes the options of the config's api, and the environment before them", async () => {
    const { env, sandbox } = await startService();
    const { clientId } = sandbox.credentials;
    const api = { baseUrl: sandbox.url, clientId, clientSecret: "wrong" };
    const cwd = folder({ "esim-webhooks.config.mjs": `export default { api: ${JSON.stringify(api)} };` });
    expect((await cli(call, { cwd })).stderr).toContain("Error (wrong_credentials): ");
    const { ESIM_CLIENT_SECRET = "" } = env;
    expect(await cli(call, { cwd, env: { ESIM_CLIENT_SECRET } })).toMatchObject({ code: 0, stderr: "" });
  });

  it("says what is wrong with the config's api, and in which file", async () => {
    const cwd = folder({
      "mine.mjs": `export default { api: { baseUrl: "https://x.example", timeout: 3 } };`,
    });
    const env = { ESIM_CLIENT_ID: "123456", ESIM_CLIENT_SECRET: "x" };
    const { code, stderr } = await cli([...call, "--config", "mine.mjs"], { cwd, env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/Error \(invalid_option\): \S+mine\.mjs: .*"timeout"/);
    expect(stderr).not.toContain("createClient");
  });

  it.each([["partner.example/api/v3"], ["http://partner.example/api/v3"]])(
    "names the variable whose URL is wrong: %s",
    async (ESIM_API_URL) => {
      const env = { ESIM_API_URL, ESIM_CLIENT_ID: "123456", ESIM_CLIENT_SECRET: "x" };
      const { code, stderr } = await cli(call, { env });
      expect(code).toBe(2);
      expect(stderr).toContain("Error (invalid_option): ESIM_API_URL: the base URL ");
    },
  );

  it("says that the credentials are wrong, shows none of them, and ends with 2", async () => {
    const { run } = await startService();
    const { code, stdout, stderr } = await run(["client"], { env: { ESIM_CLIENT_SECRET: "not-the-secret" } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^Error \(wrong_credentials\): The service answered 401.* Check ESIM_CLIENT_ID and/,
    );
    expect(stderr).not.toContain("not-the-secret");
  });

  it("ends with 3 for a reference that does not exist, and names no function of the client", async () => {
    const { run } = await startService();
    const { code, stdout, stderr } = await run(["deliveries", "nothing"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^Error \(not_found\): The service answered 404.* Check the references, and/);
  });

  it("ends with 1 when the service cannot be reached, and says where it was looked for", async () => {
    const { sandbox, run } = await startService();
    await sandbox.close();
    const cwd = folder({ "esim-webhooks.config.mjs": "export default { api: { maxAttempts: 1 } };" });
    const { code, stderr } = await run(["client"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Error \(unreachable\): Nothing answers at http:\/\/127\.0\.0\.1:\d+\. .*ECONNREFUSED 127/,
    );
  });
});
