import { findClient } from "../account/clients.ts";
import type { Parts } from "./parts.ts";

/** The client that an operation is for: the one that it names, else the one that every sandbox has. Throws `Refused("not_found")`. */
export function chosenClient({ service, clientReference }: Parts, named = clientReference): string {
  return findClient(service, named).clientReference;
}
