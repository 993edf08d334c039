import { describe, expect, it } from "vitest";
import { cli, jsonLines } from "../cli.ts";
import { startService } from "./service.ts";

const every = ["esim.assigned", "esim.faulted"];

describe("api client", () => {
  it("shows the client, one fact per line", async () => {
    const { run, api } = await startService();
    const { clientReference, name } = await api.client.get();
    const { code, stdout, stderr } = await run(["client"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`reference        ${clientReference}\n`);
    expect(stdout).toContain(`name             ${name}\n`);
    expect(stdout).toMatch(/^most profiles {4}[\d,]+$/m);
  });

  it("prints it as one line of JSON", async () => {
    const { run, api } = await startService();
    expect(jsonLines(await run(["client", "--json"]))).toEqual([await api.client.get()]);
  });
});

describe("api variants", () => {
  it("lists what can be ordered, with the stock where the service tells it", async () => {
    const { run, api, sandbox } = await startService();
    const [variant] = await api.catalog.esimVariants();
    await sandbox.setStock(variant?.esimVariant ?? "", 1234);
    const { code, stdout } = await run(["variants"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^VARIANT +DEFAULT +AVAILABLE +NAME/m);
    expect(stdout).toMatch(new RegExp(`^${variant?.esimVariant} +\\S+ +1,234 `, "m"));
  });

  it("prints one variant per line of JSON", async () => {
    const { run, api } = await startService();
    expect(jsonLines(await run(["variants", "--json"]))).toEqual(await api.catalog.esimVariants());
  });
});

describe("api event-types", () => {
  it("lists the types, one per line", async () => {
    const { run, api, sandbox } = await startService();
    await sandbox.addEventType("esim.renamed");
    const { code, stdout } = await run(["event-types"]);
    const types = (await api.catalog.webhookEventTypes()).map(({ eventType }) => eventType);
    expect(types).toContain("esim.renamed");
    expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({ code: 0, lines: types });
  });

  it("is named in --help and by completion as it is written", async () => {
    expect((await cli(["api", "--help"])).stdout).toMatch(/^ {2}event-types +List the event types$/m);
    const next = await cli(["__complete", "esim-webhooks", "api", "ev"], {
      env: { COMP_LINE: "esim-webhooks api ev" },
    });
    expect(next.stdout).toBe("event-types\n");
  });

  it("prints one type per line of JSON", async () => {
    const { run } = await startService();
    expect(jsonLines(await run(["event-types", "--json"]))).toContainEqual({ eventType: "esim.faulted" });
  });
});

describe("api endpoints list", () => {
  it("lists the endpoints, with what is not usual about them", async () => {
    const { run, api, sandbox } = await startService();
    const on = await api.webhooks.create({ url: "https://a.example/webhooks", eventTypes: every });
    const off = await api.webhooks.create({
      url: "https://b.example/webhooks",
      eventTypes: ["esim.faulted"],
    });
    await sandbox.setEndpointActive(off.webhookEndpointReference, false);
    const { code, stdout } = await run(["endpoints", "list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^REFERENCE +ACTIVE +TYPES +CREATED +URL$/m);
    const row = (reference: string, rest: string) => new RegExp(`^${reference} +${rest}$`, "m");
    expect(stdout).toMatch(
      row(on.webhookEndpointReference, "yes +2 +\\S+( ago)? +https://a.example/webhooks"),
    );
    expect(stdout).toMatch(
      row(off.webhookEndpointReference, "no +1 +\\S+( ago)? +https://b.example/webhooks"),
    );
  });

  it("pages through all of them, prints one per line of JSON, and no secret", async () => {
    const { run, api } = await startService();
    for (const name of ["a", "b", "c"])
      await api.webhooks.create({ url: `https://${name}.example/webhooks`, eventTypes: every });
    const all = await run(["endpoints", "list", "--json"]);
    expect(jsonLines(all)).toHaveLength(3);
    expect(jsonLines(all)[0]).toMatchObject({ eventTypes: every, active: true });
    expect(all.stdout).not.toMatch(/whsec|signingSecret/);
    const some = await run(["endpoints", "list", "--json", "--limit", "2"]);
    expect(jsonLines(some)).toEqual(jsonLines(all).slice(0, 2));
    expect(some.stderr).toBe("There may be more endpoints: --limit or --all shows them.\n");
  });

  it("masks a password in a URL, and shows it with --reveal", async () => {
    const { run, api } = await startService();
    const url = "https://hook:pa55word@a.example/webhooks";
    await api.webhooks.create({ url, eventTypes: every });
    for (const json of [[], ["--json"]]) {
      const { stdout } = await run(["endpoints", "list", ...json]);
      expect(stdout).toContain("https://hook:•••@a.example/webhooks");
      expect((await run(["endpoints", "list", "--reveal", ...json])).stdout).toContain(url);
    }
  });

  it("says that there is none", async () => {
    const { run } = await startService();
    expect(await run(["endpoints", "list"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "There are no endpoints.\n",
    });
  });
});
