// The comments here are the only description of the events: editors show them, and docs/events.md is made from them.

/** A known value, or one that the API adds later. */
export type Open<Known extends string> = Known | (string & {});

/** A known value, or anything else: the API gives the field no type. */
export type Untyped<Known extends string> = Known | NonNullable<unknown> | null | undefined;

/** A mobile country or network code, as it was sent. A number has lost leading zeros, which are part of a network code. */
export type NetworkCode = string | number;

/** The fields of every eSIM event. */
export interface EsimData {
  /** The profile that the eSIM belongs to. Opaque: store it as it came, and never parse it. */
  readonly profileReference: string;
  /** The eSIM. Opaque: store it as it came, and never parse it. */
  readonly esimReference: string;
  /** The card number of the eSIM (ICCID). Personal data: keep it out of logs. */
  readonly iccid?: string | undefined;
}

/** The data of `esim.assigned`. */
export interface EsimAssignedData extends EsimData {
  readonly iccid: string;
}

/** The data of the events that happen on a device. */
export interface EsimDeviceData extends EsimData {
  /** The chip in the device (EID), if the provider knows it. Personal data: keep it out of logs. */
  readonly eid?: string | undefined;
}

/** Why a download or an installation failed. `EsimFaultedData` says what each value means. */
export type FaultReason = Open<
  | "download_order_expired"
  | "user_rejected"
  | "download_failed"
  | "device_out_of_memory"
  | "already_installed"
  | "install_interrupted"
  | "install_failed"
  | "unknown"
>;

/**
 * The data of `esim.faulted`.
 * @experimental
 */
export interface EsimFaultedData extends EsimDeviceData {
  /**
   * Why it failed. Only `download_order_expired` is final; treat a value that you do not know as not final.
   *
   * - `download_order_expired`: the download has no attempts left. Order a replacement.
   * - `user_rejected`: the user said no when the device asked. Ask whether that was intended.
   * - `download_failed`: the download failed, and nothing more is known. The device may try again.
   * - `device_out_of_memory`: the device cannot hold another profile. Ask the user to delete one.
   * - `already_installed`: this device has the profile already. Nothing needs to be done.
   * - `install_interrupted`: the installation stopped half-way. The device may try again.
   * - `install_failed`: the installation failed, and nothing more is known. The device may try again.
   * - `unknown`: the provider did not say why. The device may try again.
   */
  readonly reason: FaultReason;
  /** The provider's codes and message, for people. It has no fixed form and is not always text: do not parse it. */
  readonly detail?: unknown;
}

/** The data of `esim.mccswitch`. */
export interface EsimMccSwitchData extends EsimData {
  /** The country that the eSIM was in: two letters (ISO 3166-1). Absent at its first registration. */
  readonly previousCountry?: string | undefined;
  /** The mobile country code (MCC) of the last network. Absent at the first registration. */
  readonly previousMcc?: NetworkCode | undefined;
  /** The mobile network code (MNC) of the last network. */
  readonly previousMnc?: NetworkCode | undefined;
  /** The country that the eSIM is in: two letters (ISO 3166-1). Absent on networks without one, such as satellites. */
  readonly newCountry?: string | undefined;
  /** The mobile country code (MCC) of the network that serves the eSIM now. */
  readonly newMcc: NetworkCode;
  /** The mobile network code (MNC) of the network that serves the eSIM now. */
  readonly newMnc?: NetworkCode | undefined;
}

/** Whether the network serves an eSIM. `terminated` is final. */
export type LifecycleStatus = "active" | "suspended" | "terminated";

/** The data of the `esim.lifecycle.*` events. */
export interface EsimLifecycleData<Status extends LifecycleStatus> extends EsimData {
  /** Whether the network serves the line now: the same as the event type says. */
  readonly lifecycleStatus: Status;
  /** The status before the change. */
  readonly previousLifecycleStatus?: Open<LifecycleStatus> | undefined;
}

/**
 * The data of `esim.balance.updated`.
 * @experimental
 */
export interface EsimBalanceUpdatedData extends EsimData {
  /** Whether money was added or taken. */
  readonly updateType: Open<"credit" | "debit">;
  /** Who changed the balance: you or the provider. */
  readonly source: Open<"client" | "provider">;
  /** Why the balance changed. */
  readonly reason: string;
  /** More about the change, for people. */
  readonly detail?: string | undefined;
  /** How much was added or taken: a whole number in the minor unit of `currency`, such as cents. A number beyond 2^53 arrives rounded in JavaScript. */
  readonly amount: number;
  /** The balance after the change: a whole number in the minor unit of `currency`. A number beyond 2^53 arrives rounded in JavaScript. */
  readonly balanceAfter: number;
  /** The currency: three letters (ISO 4217). */
  readonly currency: string;
  /** Your own id of the transaction, if you made the change. */
  readonly clientTransactionId?: string | undefined;
  /** The provider's id of the transaction, if there is one. */
  readonly providerTransactionId?: string | undefined;
  /** When the balance changed: a date-time. */
  readonly occurredAt?: string | undefined;
}

/** The data of `package.ended`. Only `reason` is documented by the API; other fields are kept as sent. */
export interface PackageEndedData {
  /**
   * Why the package ended: each event has it. `removed`: its eSIM is about to be suspended or terminated. The API does not document its type,
   * and an event without a `reason` is accepted, too.
   */
  readonly reason?: Untyped<"removed">;
  readonly [field: string]: unknown;
}

/** Event type → data, for every event type whose payload is documented. */
export interface EsimEvents {
  /**
   * An order has its eSIM, and a device can download it.
   *
   * **Next:** `esim.downloaded`, once the user installs it.
   *
   * **Do:** store the `iccid` with your order, and show the user how to install the eSIM. The event can arrive before the
   * answer to your order: if you do not know the `esimReference` yet, call `context.retryLater(30_000)`.
   */
  readonly "esim.assigned": EsimAssignedData;
  /**
   * A device has downloaded the profile.
   *
   * **Next:** `esim.installed`, or `esim.faulted` if the installation fails.
   *
   * **Do:** show that the installation is under way.
   */
  readonly "esim.downloaded": EsimDeviceData;
  /**
   * A device has installed the profile.
   *
   * **Next:** `esim.enabled`, when the user switches the eSIM on.
   *
   * **Do:** record the success. It overrides an earlier `esim.faulted` of the same eSIM.
   */
  readonly "esim.installed": EsimDeviceData;
  /**
   * The profile was switched on, on the device.
   *
   * **Next:** `esim.mccswitch`, if the eSIM registers on another network than its last one, or for the first time.
   *
   * **Do:** show the eSIM as in use.
   */
  readonly "esim.enabled": EsimDeviceData;
  /**
   * The profile was switched off, on the device. This is no lifecycle event: the line is not suspended by it.
   *
   * **Next:** `esim.enabled`, if the user switches it on again, or `esim.deleted`.
   *
   * **Do:** show the eSIM as switched off. Do not suspend or refund anything for it.
   */
  readonly "esim.disabled": EsimDeviceData;
  /**
   * A profile that was on a device has been deleted there. This is no lifecycle event: the API does not say whether the line changes.
   *
   * **Next:** nothing that you can rely on.
   *
   * **Do:** notify the user, who may have deleted it by mistake. If the line is no longer needed, terminate it.
   */
  readonly "esim.deleted": EsimDeviceData;
  /**
   * **Experimental.** A profile could not be downloaded or installed. In most cases the download stays possible.
   *
   * **Next:** usually `esim.installed`, which overrides the fault, because the device may try again. Nothing, if `reason` is
   * `download_order_expired`.
   *
   * **Do:** order a replacement **only if `reason` is `download_order_expired`**. After any other fault, a replacement would be a second eSIM
   * for a user whose first one may still work. Show the user what to do, and return.
   */
  readonly "esim.faulted": EsimFaultedData;
  /**
   * The eSIM has moved to a network of another operator or country, or has registered for the first time. Registering again on the same network
   * sends no event.
   *
   * **Next:** another `esim.mccswitch`, at the next move.
   *
   * **Do:** show the user what applies in `newCountry`, which can be absent.
   */
  readonly "esim.mccswitch": EsimMccSwitchData;
  /**
   * The network has stopped serving the line, because you suspended it. Before that, each active package ended with a
   * `package.ended` of its own.
   *
   * **Next:** `esim.lifecycle.activated`, when you reactivate the line or order a package for it.
   *
   * **Do:** show the line as suspended. Events arrive in any order: use `latestOnly({ state: "lifecycle" }, …)`, so that an older
   * event does not overwrite a newer one.
   */
  readonly "esim.lifecycle.suspended": EsimLifecycleData<"suspended">;
  /**
   * The network serves the line again, because you reactivated it or ordered a package for it. A new line that starts for
   * the first time sends `esim.assigned` and not this event.
   *
   * **Next:** `esim.lifecycle.suspended` or `esim.lifecycle.terminated`, when you ask for it.
   *
   * **Do:** show the line as active. Events arrive in any order: use `latestOnly({ state: "lifecycle" }, …)`, so that an older
   * event does not overwrite a newer one.
   */
  readonly "esim.lifecycle.activated": EsimLifecycleData<"active">;
  /**
   * The network has stopped serving the line for good, because you terminated it. Before that, each active package ended with
   * a `package.ended` of its own.
   *
   * **Next:** nothing: the line cannot come back.
   *
   * **Do:** close the line in your records. A lifecycle event of this eSIM that arrives later is an older one: use
   * `latestOnly`.
   */
  readonly "esim.lifecycle.terminated": EsimLifecycleData<"terminated">;
  /**
   * **Experimental.** Money was added to a balance or taken from it.
   *
   * **Next:** nothing that belongs to this change.
   *
   * **Do:** store `balanceAfter` as the balance, with `latestOnly`, instead of adding amounts up: events arrive in any order.
   * Match your own changes by `clientTransactionId`.
   */
  readonly "esim.balance.updated": EsimBalanceUpdatedData;
  /**
   * A package has ended.
   *
   * **Next:** if `reason` is `removed`, `esim.lifecycle.suspended` or `esim.lifecycle.terminated`. Otherwise nothing that is
   * documented.
   *
   * **Do:** show the package as ended. The API documents only `reason`: check other fields, such as the `packageReference`
   * of our sample, before you use them.
   */
  readonly "package.ended": PackageEndedData;
}
