import { maskPersonalData } from "@esim-webhooks/core/masking";
import { shortened } from "../terminal/text.ts";

/** Masks a text that may quote personal data or secrets, and shortens it. */
export function maskText(text: string): string {
  return shortened(maskPersonalData(text));
}
