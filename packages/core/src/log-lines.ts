export type { ColourStream } from "./base/colours.ts";
export { hasColours } from "./base/colours.ts";
export type { CoreErrorCode, ErrorSubject } from "./base/errors.ts";
export { WebhookError } from "./base/errors.ts";
export type { LineLevel, LineOf, LineStyle } from "./base/line-logger.ts";
export { jsonLine, lineLogger, prettyLine } from "./base/line-logger.ts";
export { printable, printableJson, replacement, unprintable } from "./base/printable.ts";
export type { ShownError } from "./base/shown-error.ts";
export { detailsOf, messageOf, tracedError } from "./base/shown-error.ts";
