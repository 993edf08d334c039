export type { Switches, SwitchSettings } from "./base/switches.ts";
export type { SandboxErrorCode } from "./errors.ts";
export type { SandboxOptions } from "./options.ts";
export type { Credentials, Sandbox } from "./sandbox.ts";
export { startSandbox } from "./sandbox.ts";
