import type { ApiClient } from "@esim-webhooks/client";
import { sampleData } from "@esim-webhooks/core/testing";
import type { Sandbox } from "@esim-webhooks/sandbox";
import type { DemoReceiver } from "./receiver.ts";
import type { RunStep } from "./report.ts";

/** The life of an eSIM. */
export async function lifeOfAnEsim(sandbox: Sandbox, step: RunStep): Promise<void> {
  const esim = await sandbox.orderEsim();
  await step("an eSIM is ordered", ["processed"], () => {});
  await step("downloaded", ["processed"], () => esim.download());
  await step("installed", ["processed"], () => esim.install());
  await step("enabled", ["processed"], () => esim.enable());
  await step("enters a network", ["processed"], () => esim.enterNetwork("NL"));
  await step("its balance is credited", ["processed"], () => esim.credit(500));
  await step("suspended: its package ends first", ["processed", "processed"], async () => {
    await esim.orderPackage();
    await esim.suspend();
  });
  await step("reactivated", ["processed"], () => esim.reactivate());
  await step("disabled and deleted", ["processed", "processed"], async () => {
    await esim.disable();
    await esim.delete();
  });
  await step("terminated", ["processed"], () => esim.terminate());
}

/** Makes everything happen that may go wrong between the service and the receiver. */
export async function troubles(
  sandbox: Sandbox,
  api: ApiClient,
  receiver: DemoReceiver,
  step: RunStep,
): Promise<void> {
  const esim = await sandbox.orderEsim();
  await step("another eSIM", ["processed"], () => {});
  await step("it has a fault", ["processed"], () => esim.fault("download_failed"));
  await step("a fault of an unknown reason", ["processed"], () => esim.fault("sunspots"));
  await step("an event type that the catalog does not have", ["processed"], () =>
    sandbox.emit({ type: "esim.teleported", data: {} }),
  );
  await step("an unknown field", ["processed"], () =>
    sandbox.emit({ type: "esim.enabled", data: { ...sampleData("esim.enabled"), orbit: 7 } }),
  );
  await step("sent twice concurrently", ["processed", "busy"], async () => {
    receiver.behave("waits");
    sandbox.faults.add({ kind: "duplicate" });
    await esim.credit(2);
    await sandbox.settled();
    receiver.behave("works");
    await sandbox.advance("30s"); // if the answer that counts was the 503, the service tries again
  });
  await step("the handler fails, and the service tries again", ["failed", "processed"], async () => {
    receiver.behave("fails");
    await esim.credit(3);
    await sandbox.settled();
    receiver.behave("works");
    await sandbox.advance("30s");
  });
  await step("the connection is cut in the body", ["body_incomplete", "processed"], async () => {
    sandbox.faults.add({ kind: "cut" });
    await esim.credit(4);
    await sandbox.advance("30s");
  });
  await step("the answer to an order is lost, its event is not", ["processed"], async () => {
    sandbox.faults.dropNextAnswer("POST /esims");
    await api.esims.order(); // sent again by the client, under the same idempotency key
  });
  await step("signed with a wrong key by the service", ["no_matching_key"], async () => {
    sandbox.faults.add({ kind: "wrong_signature" });
    await esim.credit(5);
  });
}
