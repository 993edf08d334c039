import {
  type EventToSend,
  type SignedRequest,
  type SignedRequestOptions,
  sampleData,
  signedRequest,
} from "@esim-webhooks/core/testing";
import type { EntryOptions } from "../inbox-entry.ts";

/** A delivery of sample data, by default of `esim.faulted`. Fields of `data` replace those of the sample. */
export function signedDelivery(
  secret: SignedRequestOptions["secret"],
  {
    type = "esim.faulted",
    data,
    ...event
  }: Pick<EventToSend, "id"> & Pick<EntryOptions, "type" | "data"> = {},
  options: Omit<SignedRequestOptions, "secret"> = {},
): SignedRequest {
  return signedRequest({ ...event, type, data: { ...sampleData(type), ...data } }, { ...options, secret });
}
