import type { Service } from "../base/service.ts";
import type { BalanceUpdate } from "../esim/balance.ts";
import { registerOnNetwork } from "../esim/network.ts";
import { endPackage } from "../lifecycle/lifecycle.ts";
import type { NewPortIn } from "../number/new-port-in.ts";
import type { PortInReason } from "../number/port-in-steps.ts";
import { type EsimOperationName, esimOperations } from "./esim-operations.ts";
import { checked, packageEnd } from "./input.ts";
import { type ShownEsim, showEsim } from "./shown-esim.ts";

/**
 * What becomes of one eSIM. Each operation resolves to the eSIM as it is afterwards; its events are then being sent. What
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
  /** @param reason as in the event. Default "expired" */
  endPackage(packageReference: string, reason?: string): Promise<ShownEsim>;
  /** @param amount in minor units */
  credit(amount: number, more?: Omit<BalanceUpdate, "updateType" | "amount">): Promise<ShownEsim>;
  /** @param amount in minor units */
  debit(amount: number, more?: Omit<BalanceUpdate, "updateType" | "amount">): Promise<ShownEsim>;

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
  const does = (method: string, name: EsimOperationName, input: object = {}) =>
    after(() => esimOperations[name](service, esim, input, `argument of ${method}`));
  return {
    profileReference,
    esimReference: esim,
    iccid,
    show: () => after(() => {}),
    download: (eid) => does("download", "downloaded", { eid }),
    install: () => does("install", "installed"),
    enable: () => does("enable", "enabled"),
    disable: () => does("disable", "disabled"),
    delete: () => does("delete", "deleted"),
    fault: (reason, detail) => does("fault", "fault", { reason, detail }),
    enterNetwork: (where) => after(() => registerOnNetwork(service, esim, where)),
    suspend: () => does("suspend", "lifecycle", { operation: "suspend" }),
    reactivate: () => does("reactivate", "lifecycle", { operation: "reactivate" }),
    terminate: () => does("terminate", "lifecycle", { operation: "terminate" }),
    orderPackage: (planReference) => does("orderPackage", "packages", { planReference }),
    endPackage: (packageReference, reason = "expired") =>
      after(() => {
        const { reason: checkedReason } = checked({ reason }, packageEnd, "argument of endPackage");
        endPackage(service, packageReference, checkedReason);
      }),
    credit: (amount, more) => does("credit", "balance", { ...more, updateType: "credit", amount }),
    debit: (amount, more) => does("debit", "balance", { ...more, updateType: "debit", amount }),
    portIn: {
      create: (order) => does("portIn.create", "port-in", order),
      submit: () => does("portIn.submit", "port-in/submit"),
      approve: () => does("portIn.approve", "port-in/approve"),
      schedule: (date) => does("portIn.schedule", "port-in/schedule", { date }),
      reject: (reason) => does("portIn.reject", "port-in/reject", reason),
      fail: (reason) => does("portIn.fail", "port-in/fail", reason),
      complete: () => does("portIn.complete", "port-in/complete"),
      cancel: () => does("portIn.cancel", "port-in/cancel"),
      confirmCancel: () => does("portIn.confirmCancel", "port-in/confirmCancel"),
      abandon: () => does("portIn.abandon", "port-in/abandon"),
    },
  };
}
