import type { StateMachine } from "../base/state-machine.ts";

/** The state of a profile on its device. */
export type ProfileState =
  | "released"
  | "downloaded"
  | "installed"
  | "enabled"
  | "disabled"
  | "deleted"
  | "expired";
export type ProfileOperation =
  | "download"
  | "install"
  | "enable"
  | "disable"
  | "delete"
  | "fault"
  | "download_order_expired";

/** The steps of a device, in order. A device that is asked for a later step does the missing ones first. */
export const wayOntoDevice = ["released", "downloaded", "installed", "enabled"] as const;

/** A fault changes nothing: the device may try again. After `download_order_expired` it may not. */
export const profileOnDevice: StateMachine<ProfileState, ProfileOperation> = {
  thing: "The profile",
  moves: {
    released: {
      download: "downloaded",
      install: "installed",
      enable: "enabled",
      fault: "released",
      download_order_expired: "expired",
    },
    downloaded: {
      install: "installed",
      enable: "enabled",
      delete: "deleted",
      fault: "downloaded",
      download_order_expired: "expired",
    },
    installed: { enable: "enabled", disable: "disabled", delete: "deleted", fault: "installed" },
    enabled: { disable: "disabled", delete: "deleted", fault: "enabled" },
    disabled: { enable: "enabled", delete: "deleted", fault: "disabled" },
    deleted: {},
    expired: {},
  },
};

/** The statuses of an eSIM on the network. */
export const lifecycleStatuses = ["active", "suspended", "terminated"] as const;
export type LifecycleStatus = (typeof lifecycleStatuses)[number];
export const lifecycleOperations = ["suspend", "reactivate", "terminate"] as const;
export type LifecycleOperation = (typeof lifecycleOperations)[number];

export const lifecycle: StateMachine<LifecycleStatus, LifecycleOperation> = {
  thing: "The eSIM",
  moves: {
    active: { suspend: "suspended", terminate: "terminated" },
    suspended: { reactivate: "active", terminate: "terminated" },
    terminated: {},
  },
};
