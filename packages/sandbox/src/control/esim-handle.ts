import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import type { BalanceUpdate } from "../esim/balance.ts";
import { registerOnNetwork } from "../esim/network.ts";
import { endPackage, findPackage } from "../lifecycle/lifecycle.ts";
import type { NewPortIn } from "../number/new-port-in.ts";
import type { PortInReason } from "../number/port-in-steps.ts";
import { type EsimOperationName, esimOperations } from "./esim-operations.ts";
import { checked, packageEnd } from "./input.ts";
import { type ShownEsim, showEsim } from "./shown-esim.ts";

/**
 * The operations of one eSIM. Each resolves to the eSIM as it is afterwards; its events are then being sent. What
 * the eSIM's state does not allow rejects with `Refused`.
 */
export interface EsimHandle {
  /** The profile that the eSIM belongs to. */
  readonly profileReference: string;
  /** Identifies the eSIM: 18 digits. */
  readonly esimReference: string;
  /** The number of its card, made up. */
  readonly iccid: string;
  /** The eSIM as it is now. */
  show(): Promise<ShownEsim>;

  /**
   * Downloads its profile to a device.
   * @param eid of the device. Default: one that is made up
   */
  download(eid?: string): Promise<ShownEsim>;
  /** Installs its profile on the device. Downloads it first if that is still to be done. */
  install(): Promise<ShownEsim>;
  /** Enables its profile on the device. Downloads and installs it first if that is still to be done. */
  enable(): Promise<ShownEsim>;
  /** Disables its profile on the device. */
  disable(): Promise<ShownEsim>;
  /** Deletes its profile from the device. */
  delete(): Promise<ShownEsim>;
  /** Lets its profile fail on the device. `download_order_expired` ends the order; after other reasons the device may try again. */
  fault(reason: string, detail?: unknown): Promise<ShownEsim>;

  /**
   * Registers it on a network. Enables its profile first if that is still to be done.
   * @param where a country, "NL", or a network, "204-08" (MCC-MNC)
   */
  enterNetwork(where: string): Promise<ShownEsim>;
  /** Stops its network service, and ends its active packages. */
  suspend(): Promise<ShownEsim>;
  /** Starts its network service again. */
  reactivate(): Promise<ShownEsim>;
  /** Ends its network service for good, and its active packages. */
  terminate(): Promise<ShownEsim>;

  /**
   * Orders a package, which also reactivates a suspended eSIM.
   * @param planReference default "PLAN-1GB-30D"
   */
  orderPackage(planReference?: string): Promise<ShownEsim>;
  /**
   * Ends one of its packages.
   * @param packageReference of an active package
   * @param reason as in the event. Default "expired"
   */
  endPackage(packageReference: string, reason?: string): Promise<ShownEsim>;
  /**
   * Adds to its balance.
   * @param amount in minor units
   * @param more fields of the event
   */
  credit(amount: number, more?: Omit<BalanceUpdate, "updateType" | "amount">): Promise<ShownEsim>;
  /**
   * Takes from its balance. More than there is rejects with `Refused`.
   * @param amount in minor units
   * @param more fields of the event
   */
  debit(amount: number, more?: Omit<BalanceUpdate, "updateType" | "amount">): Promise<ShownEsim>;

  /** The operations of the eSIM's newest port-in request. A step submits a new request first; `complete` approves it, too. */
  readonly portIn: {
    /** Creates a request. */
    create(order: NewPortIn): Promise<ShownEsim>;
    /** The request is submitted to the provider. */
    submit(): Promise<ShownEsim>;
    /** The donor approves it. */
    approve(): Promise<ShownEsim>;
    /**
     * The provider sets the day.
     * @param date such as "2026-12-31"
     */
    schedule(date: string): Promise<ShownEsim>;
    /** The donor rejects it, with a code and a message. */
    reject(reason?: PortInReason): Promise<ShownEsim>;
    /** It fails, with a code and a message. */
    fail(reason?: PortInReason): Promise<ShownEsim>;
    /** The number is ported. */
    complete(): Promise<ShownEsim>;
    /** Begins to cancel it. */
    cancel(): Promise<ShownEsim>;
    /** The provider confirms that it is cancelled. */
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
        if (findPackage(service, packageReference).esimReference !== esim)
          throw new Refused(
            "not_found",
            `The package ${packageReference} is on another eSIM. Call endPackage on that one.`,
          );
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
