/** The codes of the errors that `startSandbox` throws, and `closed` of what waits in a sandbox that is closed. What the service refuses is a `Refused`. */
export type SandboxErrorCode =
  | "invalid_option"
  | "cannot_listen"
  | "unusable_data"
  | "unsupported_node"
  | "closed";
