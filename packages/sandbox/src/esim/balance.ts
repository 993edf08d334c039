import { newTransactionReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { type Esim, emitOf, findEsim } from "./esim.ts";

/** A change of an eSIM's balance. */
export interface BalanceUpdate {
  /** A `credit` adds to the balance; a `debit` takes from it. */
  readonly updateType: "credit" | "debit";
  /** In minor units of the eSIM's currency: a whole number above 0. */
  readonly amount: number;
  /** Default "client". */
  readonly source?: "client" | "provider";
  /** Default "adjustment". */
  readonly reason?: string;
  /** More about the reason, for people. Default: none. */
  readonly detail?: string;
  /** Only of an update by the client. Default: one that is made up. */
  readonly clientTransactionId?: string;
  /** Default: one that is made up. */
  readonly providerTransactionId?: string;
}

/** Credits or debits the eSIM. A debit of more than its balance is refused. */
export function updateBalance(service: Service, esimReference: string, update: BalanceUpdate): Esim {
  return service.db.transaction(() => {
    const { updateType, amount, source = "client", reason = "adjustment", detail } = update;
    const esim = findEsim(service, esimReference);
    const balanceAfter = esim.balance + (updateType === "credit" ? amount : -amount);
    if (!Number.isInteger(amount) || amount <= 0 || !Number.isSafeInteger(balanceAfter)) {
      throw new Refused("invalid", `The amount is ${amount}. Give a whole number of minor units, above 0.`);
    }
    if (balanceAfter < 0) {
      throw new Refused(
        "illegal_transition",
        `The balance is ${esim.balance}: ${amount} cannot be debited. Credit the eSIM first.`,
      );
    }
    service.db.run("update esims set balance = ? where esimReference = ?", balanceAfter, esimReference);
    const byClient = { clientTransactionId: update.clientTransactionId ?? newTransactionReference() };
    emitOf(service, esim, "esim.balance.updated", {
      updateType,
      source,
      reason,
      detail,
      amount,
      balanceAfter,
      currency: esim.currency,
      ...(source === "client" && byClient),
      providerTransactionId: update.providerTransactionId ?? newTransactionReference(),
      occurredAt: new Date(service.clock.now()).toISOString(),
    });
    return findEsim(service, esimReference);
  });
}
