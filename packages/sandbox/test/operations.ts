import * as fc from "fast-check";
import type { Service } from "../src/base/service.ts";
import { updateBalance } from "../src/esim/balance.ts";
import * as device from "../src/esim/device.ts";
import { registerOnNetwork } from "../src/esim/network.ts";
import { changeLifecycle, endPackage, orderPackage, packagesOf } from "../src/lifecycle/lifecycle.ts";
import { allocateNumber } from "../src/number/allocate-number.ts";
import { createPortIn } from "../src/number/create-port-in.ts";
import type { NewPortIn } from "../src/number/new-port-in.ts";
import { portInsOf } from "../src/number/port-in.ts";
import * as steps from "../src/number/port-in-steps.ts";

/** What may become of an eSIM. It throws `Refused` where the eSIM's state does not allow it. */
export type Operation = (service: Service, esimReference: string) => void;

const operation = (run: Operation, name: string) => fc.constant(Object.assign(run, { toString: () => name }));
const named = (operations: Readonly<Record<string, Operation>>) =>
  Object.entries(operations).map(([name, run]) => operation(run, name));

const onNewestPortIn =
  (step: (service: Service, reference: string) => unknown): Operation =>
  (service, esim) => {
    const [newest] = portInsOf(service, esim);
    if (newest) step(service, newest.portInRequestReference);
  };

const customer = {
  firstName: "Ada",
  lastName: "Smit",
  address: { street: "Damrak", streetNumber: "1", city: "Amsterdam", postalCode: "1012", countryCode: "NL" },
};
export const portIn: NewPortIn = { msisdn: "31612345678", details: { donorContractType: "prepaid" } };

const usualOperation = fc.oneof(
  ...named({
    download: (service, esim) => device.downloadEsim(service, esim),
    install: device.installEsim,
    enable: device.enableEsim,
    disable: device.disableEsim,
    delete: device.deleteEsim,
    fault: (service, esim) => device.faultEsim(service, esim, { reason: "download_failed" }),
    expire: (service, esim) => device.faultEsim(service, esim, { reason: "download_order_expired" }),
    suspend: (service, esim) => changeLifecycle(service, esim, "suspend"),
    reactivate: (service, esim) => changeLifecycle(service, esim, "reactivate"),
    orderPackage: (service, esim) => orderPackage(service, esim),
    endPackage(service, esim) {
      const [oldest] = packagesOf(service, esim);
      if (oldest) endPackage(service, oldest.packageReference, "expired");
    },
    createPortIn: (service, esim) => createPortIn(service, esim, portIn),
    submitPortIn: onNewestPortIn(steps.submitPortIn),
    approvePortIn: onNewestPortIn(steps.approvePortIn),
    schedulePortIn: onNewestPortIn((service, reference) =>
      steps.schedulePortIn(service, reference, "2026-12-31"),
    ),
    rejectPortIn: onNewestPortIn((service, reference) => steps.rejectPortIn(service, reference)),
    failPortIn: onNewestPortIn((service, reference) => steps.failPortIn(service, reference)),
    completePortIn: onNewestPortIn(steps.completePortIn),
    cancelPortIn: onNewestPortIn(steps.cancelPortIn),
    confirmCancelPortIn: onNewestPortIn(steps.confirmCancelPortIn),
    abandonPortIn: onNewestPortIn(steps.abandonPortIn),
  }),
  fc.constantFrom("NL", "BE", "204-04", "901-05").map(
    (where): Operation =>
      Object.assign((service: Service, esim: string) => registerOnNetwork(service, esim, where), {
        toString: () => `register ${where}`,
      }),
  ),
  fc.record({ updateType: fc.constantFrom("credit", "debit"), amount: fc.integer({ min: -1, max: 50 }) }).map(
    (update): Operation =>
      Object.assign((service: Service, esim: string) => updateBalance(service, esim, update), {
        toString: () => `${update.updateType} ${update.amount}`,
      }),
  ),
  fc.boolean().map(
    (isPrimary): Operation =>
      Object.assign(
        (service: Service, esim: string) =>
          allocateNumber(service, {
            esimReference: esim,
            countryCode: "NL",
            type: "mobile",
            isPrimary,
            customerInfo: customer,
          }),
        { toString: () => `allocateNumber ${isPrimary}` },
      ),
  ),
);

// rarer than the others: little is possible after it
const terminate = operation((service, esim) => changeLifecycle(service, esim, "terminate"), "terminate");
/** Named for the report of a sequence that fails. */
export const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 50, arbitrary: usualOperation },
  { weight: 1, arbitrary: terminate },
);
