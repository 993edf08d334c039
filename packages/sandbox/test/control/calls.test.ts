import { startSandbox } from "@esim-webhooks/sandbox";
import { expect, it } from "vitest";
import { startEndpoint } from "../sender/endpoint.ts";
import { call, register } from "./call.ts";

type Step = readonly [path: string, body?: object | undefined];

const portIn: Step = ["port-in", { msisdn: "31612345678", details: { donorContractType: "prepaid" } }];
const portInStep = (name: string, body?: object): Step => [`port-in/${name}`, body];

/** Calls below `POST /esims/{esimReference}`; what the eSIM is after the last one, and the types of its events. */
const rows: readonly (readonly [steps: readonly Step[], shown: object, events: readonly string[]])[] = [
  [
    [["downloaded", { eid: "89049032000000000000000000000001" }]],
    { profileState: "downloaded", eid: "89049032000000000000000000000001" },
    ["esim.downloaded"],
  ],
  [[["installed"]], { profileState: "installed" }, ["esim.downloaded", "esim.installed"]],
  [[["installed"], ["enabled"]], { profileState: "enabled" }, ["esim.enabled"]],
  [[["enabled"], ["disabled"]], { profileState: "disabled" }, ["esim.disabled"]],
  [[["enabled"], ["deleted"]], { profileState: "deleted" }, ["esim.deleted"]],
  [[["fault", { reason: "download_failed" }]], { profileState: "released" }, ["esim.faulted"]],
  [
    [["enabled"], ["network", { country: "BE" }]],
    { country: "BE", activatedAt: expect.any(String) },
    ["esim.mccswitch"],
  ],
  [
    [["enabled"], ["network", { mcc: "204", mnc: "08" }]],
    { network: "204-08", country: "NL" },
    ["esim.mccswitch"],
  ],
  [
    [["packages"], ["lifecycle", { operation: "suspend" }]],
    { lifecycleStatus: "suspended", packages: [{ status: "ended" }] },
    ["esim.lifecycle.suspended", "package.ended"],
  ],
  [
    [
      ["lifecycle", { operation: "suspend" }],
      ["lifecycle", { operation: "reactivate" }],
    ],
    { lifecycleStatus: "active" },
    ["esim.lifecycle.activated"],
  ],
  [
    [["lifecycle", { operation: "terminate" }]],
    { lifecycleStatus: "terminated" },
    ["esim.lifecycle.terminated"],
  ],
  [
    [["packages", { planReference: "PLAN-EU" }]],
    { packages: [{ planReference: "PLAN-EU", status: "active" }] },
    ["package.activated", "package.created"],
  ],
  [[["balance", { updateType: "credit", amount: 5 }]], { balance: 5 }, ["esim.balance.updated"]],
  [
    [
      ["balance", { updateType: "credit", amount: 5 }],
      ["balance", { updateType: "debit", amount: 2 }],
    ],
    { balance: 3 },
    ["esim.balance.updated"],
  ],
  [[portIn], { portIn: { status: "requested", submittedAt: null } }, []],
  [
    [portIn, portInStep("submit")],
    { portIn: { status: "requested", submittedAt: expect.any(String) } },
    ["port_in.submitted"],
  ],
  [
    [portIn, portInStep("approve")],
    { portIn: { status: "approved" } },
    ["port_in.approved", "port_in.submitted"],
  ],
  [
    [portIn, portInStep("approve"), portInStep("schedule", { date: "2026-12-31" })],
    { portIn: { status: "scheduled", scheduledDate: "2026-12-31" } },
    [],
  ],
  [
    [portIn, portInStep("approve"), portInStep("complete")],
    { portIn: { status: "completed" }, numbers: [{ msisdn: "31612345678" }] },
    ["port_in.completed"],
  ],
  [
    [portIn, portInStep("submit"), portInStep("reject", { code: "wrong_account", message: "Unknown." })],
    { portIn: { status: "rejected", reason: { code: "wrong_account", message: "Unknown." } } },
    ["port_in.rejected"],
  ],
  [
    [portIn, portInStep("approve"), portInStep("fail")],
    { portIn: { status: "failed", reason: { code: expect.any(String) } } },
    ["port_in.failed"],
  ],
  [[portIn, portInStep("cancel")], { portIn: { status: "cancelling" } }, ["port_in.submitted"]],
  [
    [portIn, portInStep("cancel"), portInStep("confirmCancel")],
    { portIn: { status: "cancelled" } },
    ["port_in.cancelled"],
  ],
  [
    [portIn, portInStep("reject"), portInStep("abandon")],
    { portIn: { status: "rejected", abandoned: true } },
    [],
  ],
];

it.each(rows.map((row) => [row[0].map(([path]) => path).join(", "), ...row] as const))(
  "POST /esims/{esimReference}/… %s",
  async (_, steps, shown, events) => {
    await using sandbox = await startSandbox({ clock: "manual" });
    await using endpoint = await startEndpoint();
    await register(sandbox, endpoint.url);
    const ordered = await call(sandbox, "POST", "/esims", {});
    expect(ordered.data).toMatchObject({
      profileReference: expect.stringMatching(/^\d{16}$/),
      esimReference: expect.stringMatching(/^\d{18}$/),
      iccid: expect.stringMatching(/^\d{19}$/),
    });
    let before = 0;
    let last = ordered;
    for (const [path, body] of steps) {
      await sandbox.settled();
      before = endpoint.got.length;
      last = await call(sandbox, "POST", `/esims/${ordered.data["esimReference"]}/${path}`, body);
      expect(last.status).toBe(200);
    }
    expect(last.data).toMatchObject(shown);
    await sandbox.settled();
    const types = endpoint.got.slice(before).map(({ body }) => JSON.parse(body).type);
    expect(types.sort()).toEqual(events);
  },
);

it("the catalog, the stock and the faults are changed and shown by their calls", async () => {
  await using sandbox = await startSandbox();
  const { clientId } = sandbox.credentials;
  expect(await call(sandbox, "POST", "/event-types", { eventType: "esim.renamed" })).toMatchObject({
    status: 201,
  });
  const types = async () => (await call(sandbox, "GET", "/event-types")).data.map((one) => one["eventType"]);
  expect(await types()).toContain("esim.renamed");
  expect((await call(sandbox, "DELETE", "/event-types/esim.renamed")).status).toBe(200);
  expect(await types()).not.toContain("esim.renamed");

  const variant = `/clients/${clientId}/variants/premium`;
  expect((await call(sandbox, "PATCH", variant, { available: 0 })).status).toBe(200);
  const refused = await call(sandbox, "POST", "/esims", { esimVariant: "premium" });
  expect(refused).toMatchObject({ status: 409, error: { code: "no_stock" } });
  await call(sandbox, "PATCH", variant, { available: null });
  expect((await call(sandbox, "POST", "/esims", { esimVariant: "premium" })).status).toBe(201);

  const other = await call(sandbox, "POST", "/clients", { name: "Other" });
  expect(other.data).toEqual({ clientId: expect.any(String), clientSecret: expect.any(String) });

  const fault = { kind: "error", call: "POST /esims", status: 503, done: false, times: 3 };
  expect((await call(sandbox, "POST", "/faults", fault)).data).toEqual([fault]);
  expect((await call(sandbox, "GET", "/faults")).data).toEqual([fault]);
  expect((await call(sandbox, "DELETE", "/faults")).data).toEqual([]);
});
