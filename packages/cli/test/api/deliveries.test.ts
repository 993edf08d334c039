import { describe, expect, it } from "vitest";
import { type Ended, jsonLines } from "../cli.ts";
import { startReceiver, startService } from "./service.ts";

const phone = "+31 6 1234 5678";
const statuses = (ran: Ended) => jsonLines(ran).map(({ status }) => status);

/** Two deliveries that were answered with personal data, then one that failed for good. */
async function startWithDeliveries() {
  const service = await startService({
    clock: "manual",
    switches: { rateLimit: "off", nonRetryable: "exhausted" },
  });
  const { api, sandbox } = service;
  const url = await startReceiver(200, `done for ${phone}`);
  const refusing = await startReceiver(400, "no");
  const eventTypes = ["esim.assigned", "esim.downloaded"];
  const { webhookEndpointReference: reference } = await api.webhooks.create({ url, eventTypes });
  const other = await api.webhooks.create({ url: refusing, eventTypes });
  const esim = await sandbox.orderEsim();
  await sandbox.settled();
  await sandbox.advance("1m");
  await esim.download();
  await sandbox.settled();
  return { ...service, reference, refused: other.webhookEndpointReference };
}

describe("api deliveries", () => {
  it("lists one line per delivery, newest first", async () => {
    const { run, reference, refused } = await startWithDeliveries();
    const { code, stdout, stderr } = await run(["deliveries", reference]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [head, ...lines] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^ID +TYPE +STATUS +TRIES +HTTP +SENT +NEXT$/);
    expect(lines.map((line) => line.split(/ {2,}/).slice(1, 5))).toEqual([
      ["esim.downloaded", "delivered", "1", "200"],
      ["esim.assigned", "delivered", "1", "200"],
    ]);
    expect((await run(["deliveries", refused])).stdout).toMatch(/ esim\.downloaded +exhausted +1 +400 /);
  });

  it("masks what the events and the answers say in JSON, and shows it with --reveal", async () => {
    const { run, reference, api } = await startWithDeliveries();
    const { data } = await api.webhooks.deliveries(reference).page();
    const [shown] = jsonLines(await run(["deliveries", reference, "--json"]));
    expect(shown).toEqual({
      ...data[0],
      responseBody: "•••",
      payload: {
        type: "esim.downloaded",
        timestamp: data[0]?.payload?.["timestamp"],
        data: expect.objectContaining({ iccid: "•••", esimReference: expect.stringMatching(/^\w+$/) }),
      },
    });
    expect(jsonLines(await run(["deliveries", reference, "--json", "--reveal"]))).toEqual(data);
  });

  it("filters by several states", async () => {
    const { run, reference, refused } = await startWithDeliveries();
    const filter = ["--status", "failed,exhausted", "--json"];
    expect(statuses(await run(["deliveries", refused, ...filter]))).toEqual(["exhausted", "exhausted"]);
    expect(await run(["deliveries", reference, ...filter])).toEqual({
      code: 0,
      stdout: "",
      stderr: "No delivery matches.\n",
    });
  });

  it("refuses a state that does not exist", async () => {
    const { run } = await startService();
    const { code, stderr } = await run(["deliveries", "x", "--status", "dead"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Write one of: pending, sending, delivered, failed, exhausted.");
  });

  it("lists at most --limit, and pages through all with --all", async () => {
    const { run, api, sandbox } = await startService({ clock: "manual", switches: { rateLimit: "off" } });
    const url = await startReceiver(200, "");
    const { webhookEndpointReference: reference } = await api.webhooks.create({
      url,
      eventTypes: ["esim.enabled"],
    });
    for (let sent = 0; sent < 101; sent += 1) await sandbox.emit({ type: "esim.enabled", data: {} });
    await sandbox.settled();
    const some = await run(["deliveries", reference, "--json"]);
    expect(jsonLines(some)).toHaveLength(50);
    expect(some.stderr).toBe("There may be more deliveries: --limit or --all shows them.\n");
    const all = await run(["deliveries", reference, "--json", "--all", "--status", "delivered"]);
    expect(new Set(jsonLines(all).map(({ eventId }) => eventId)).size).toBe(101);
    expect(all.stderr).toBe("");
    const table = await run(["deliveries", reference, "--all"]);
    expect(table.stdout.match(/^ID /gm)).toHaveLength(1);
  });
});
