import type { Service } from "../base/service.ts";
import { type BalanceUpdate, updateBalance } from "../esim/balance.ts";
import { deleteEsim, disableEsim, downloadEsim, enableEsim, faultEsim, installEsim } from "../esim/device.ts";
import { registerOnNetwork } from "../esim/network.ts";
import type { LifecycleOperation } from "../esim/states.ts";
import { changeLifecycle } from "../lifecycle/change-lifecycle.ts";
import { orderPackage } from "../lifecycle/order-package.ts";
import { endPackage } from "../lifecycle/package.ts";
import { createPortIn } from "../port-in/create-port-in.ts";
import type { NewPortIn } from "../port-in/new-port-in.ts";
import type { PortInReason } from "../port-in/port-in-steps.ts";
import { type PortInStep, type PortInStepDetails, takePortInStep } from "./port-in-step.ts";
import { type ShownEsim, showEsim } from "./shown-esim.ts";

type Balance = Omit<BalanceUpdate, "updateType" | "amount">;

/**
 * What becomes of one eSIM. Each operation resolves to the eSIM as it is afterwards; its events are on their way then. What
 * the eSIM's state does not allow rejects with `Refused`.
 */
export interface EsimHandle {
  readonly profileReference: string;
  readonly esimReference: string;
  readonly iccid: string;
  /** The eSIM as it is now. */
  show(): Promise<ShownEsim>;

  /** @param eid of the device. Default: one that is made up */
  download(eid?: string): Promise<ShownEsim>;
  /** Downloads it first if that is still to be done. */
  install(): Promise<ShownEsim>;
  /** Downloads and installs it first if that is still to be done. */
  enable(): Promise<ShownEsim>;
  disable(): Promise<ShownEsim>;
  delete(): Promise<ShownEsim>;
  /** It fails to download or to install. `download_order_expired` ends the order; after other reasons the device may try again. */
  fault(reason: string, detail?: unknown): Promise<ShownEsim>;

  /** @param where a country, "NL", or a network, "204-08" (MCC-MNC) */
  enterNetwork(where: string): Promise<ShownEsim>;
  suspend(): Promise<ShownEsim>;
  reactivate(): Promise<ShownEsim>;
  terminate(): Promise<ShownEsim>;

  orderPackage(planReference?: string): Promise<ShownEsim>;
  /** @param reason as the event tells it. Default "expired" */
  endPackage(packageReference: string, reason?: string): Promise<ShownEsim>;
  /** @param amount in minor units */
  credit(amount: number, more?: Balance): Promise<ShownEsim>;
  /** @param amount in minor units */
  debit(amount: number, more?: Balance): Promise<ShownEsim>;

  /** Of the eSIM's newest port-in request. A step does the ones before it that are still to be done. */
  readonly portIn: {
    create(order: NewPortIn): Promise<ShownEsim>;
    submit(): Promise<ShownEsim>;
    approve(): Promise<ShownEsim>;
    /** @param date such as "2026-12-31" */
    schedule(date: string): Promise<ShownEsim>;
    reject(reason?: PortInReason): Promise<ShownEsim>;
    fail(reason?: PortInReason): Promise<ShownEsim>;
    complete(): Promise<ShownEsim>;
    cancel(): Promise<ShownEsim>;
    confirmCancel(): Promise<ShownEsim>;
    /** Gives up porting into the eSIM, for good. */
    abandon(): Promise<ShownEsim>;
  };
}

/** Throws `Refused("not_found")`. */
export function esimHandle(service: Service, esim: string): EsimHandle {
  const { profileReference, iccid } = showEsim(service, esim);
  async function after(operation: () => unknown): Promise<ShownEsim> {
    operation();
    return showEsim(service, esim);
  }
  const lifecycle = (operation: LifecycleOperation) => after(() => changeLifecycle(service, esim, operation));
  const step = (name: PortInStep, details?: PortInStepDetails) =>
    after(() => takePortInStep(service, esim, name, details));
  return {
    profileReference,
    esimReference: esim,
    iccid,
    show: () => after(() => {}),
    download: (eid) => after(() => downloadEsim(service, esim, eid)),
    install: () => after(() => installEsim(service, esim)),
    enable: () => after(() => enableEsim(service, esim)),
    disable: () => after(() => disableEsim(service, esim)),
    delete: () => after(() => deleteEsim(service, esim)),
    fault: (reason, detail) => after(() => faultEsim(service, esim, { reason, detail })),
    enterNetwork: (where) => after(() => registerOnNetwork(service, esim, where)),
    suspend: () => lifecycle("suspend"),
    reactivate: () => lifecycle("reactivate"),
    terminate: () => lifecycle("terminate"),
    orderPackage: (planReference) => after(() => orderPackage(service, esim, planReference)),
    endPackage: (packageReference, reason = "expired") =>
      after(() => endPackage(service, packageReference, reason)),
    credit: (amount, more) =>
      after(() => updateBalance(service, esim, { ...more, updateType: "credit", amount })),
    debit: (amount, more) =>
      after(() => updateBalance(service, esim, { ...more, updateType: "debit", amount })),
    portIn: {
      create: (order) => after(() => createPortIn(service, esim, order)),
      submit: () => step("submit"),
      approve: () => step("approve"),
      schedule: (date) => step("schedule", { date }),
      reject: (reason) => step("reject", reason),
      fail: (reason) => step("fail", reason),
      complete: () => step("complete"),
      cancel: () => step("cancel"),
      confirmCancel: () => step("confirmCancel"),
      abandon: () => step("abandon"),
    },
  };
}
