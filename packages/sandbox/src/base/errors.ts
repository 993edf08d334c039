/** The codes of the errors that `startSandbox` throws. What the service refuses is a `Refused`. */
export type SandboxErrorCode = "invalid_option" | "cannot_listen" | "unusable_data" | "unsupported_node";
