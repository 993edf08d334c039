import { ProgramError } from "../program/program-error.ts";
import { receiverUrl } from "../send/receiver-url.ts";

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The URL to post events to. Throws `invalid_usage` for another machine, unless `allowRemote`: events have personal data. */
export function localReceiver(to: string, allowRemote: boolean): string {
  const url = receiverUrl(to, "--to");
  const { hostname } = new URL(url);
  if (allowRemote || loopback.test(hostname)) return url;
  throw new ProgramError(
    "invalid_usage",
    `--to names another machine, ${hostname}, and the events have personal data of real people.`,
    "Name a receiver on localhost, or add --allow-remote if that machine may have the events.",
  );
}
