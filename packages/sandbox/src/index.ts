export type { Switches, SwitchSettings } from "./base/switches.ts";
