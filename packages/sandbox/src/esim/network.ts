import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { countryWithMcc, findCountry } from "./countries.ts";
import { enableEsim } from "./device.ts";
import { activateUnlessPorting, type Esim, emitOf, findEsim } from "./esim.ts";

/**
 * Registers the eSIM on a network, with `esim.mccswitch` unless it was the last one. Enables the profile first if it is not.
 * @param where a network, "204-08" (MCC-MNC), or a country with networks of its own, "NL"
 */
export function registerOnNetwork(service: Service, esimReference: string, where: string): Esim {
  return service.db.transaction(() => {
    const { network, mcc, mnc, country } = networkAt(where);
    const before = findEsim(service, esimReference);
    if (before.lifecycleStatus !== "active") {
      const remedy = before.lifecycleStatus === "suspended" ? "Reactivate it first." : "Order another one.";
      throw new Refused(
        "illegal_transition",
        `The eSIM is ${before.lifecycleStatus}: no network serves it. ${remedy}`,
      );
    }
    const esim = before.profileState === "enabled" ? before : enableEsim(service, esimReference);
    service.db.run(
      "update esims set network = ?, country = ? where esimReference = ?",
      network,
      country ?? null,
      esimReference,
    );
    if (network !== esim.network) {
      const [previousMcc, previousMnc] = esim.network?.split("-") ?? [];
      const previousCountry = esim.country ?? undefined;
      const data = {
        previousCountry,
        previousMcc,
        previousMnc,
        newCountry: country,
        newMcc: mcc,
        newMnc: mnc,
      };
      emitOf(service, esim, "esim.mccswitch", data);
    }
    activateUnlessPorting(service, esimReference);
    return findEsim(service, esimReference);
  });
}

function networkAt(where: string) {
  const network = findCountry(where)?.network ?? where;
  const [, mcc, mnc] = /^(\d{3})-(\d{2,3})$/.exec(network) ?? [];
  if (!mcc || !mnc) {
    throw new Refused(
      "invalid",
      `"${where}" is neither a network nor a country that the sandbox knows. Give its MCC and MNC, such as "204-08", or a country, such as "NL".`,
    );
  }
  const country = countryWithMcc(mcc);
  if (country || isOfNoCountry(mcc)) return { network, mcc, mnc, country };
  throw new Refused(
    "invalid",
    `No country has the MCC ${mcc}. Take one of E.212, such as 204, or 901 for satellites.`,
  );
}

/** Satellite and other international networks. */
const isOfNoCountry = (mcc: string) => mcc.startsWith("90");
