import type { Switches } from "../base/switches.ts";
import { type AddOperation, callName } from "./call/operation.ts";
import { addAccountOperations } from "./routes/account.ts";
import { addEsimOperations } from "./routes/esims.ts";
import { addNumberOperations } from "./routes/numbers.ts";
import { addPortInOperations } from "./routes/port-ins.ts";
import { tokenPath } from "./routes/token.ts";
import { addWebhookOperations } from "./routes/webhooks.ts";

/** Every operation of the API but the token endpoint, which is not like the others. */
export function addOperations(add: AddOperation, switches: Switches): void {
  addAccountOperations(add);
  addWebhookOperations(add);
  addEsimOperations(add, switches);
  addPortInOperations(add);
  addNumberOperations(add, switches);
}

/** The names of all calls of the API: `POST /esims`. */
export function callNames(switches: Switches): string[] {
  const names = [callName("post", tokenPath)];
  addOperations(({ method, path }) => names.push(callName(method, path)), switches);
  return names;
}
