import * as z from "zod";
import type { Random } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { findCountry } from "../esim/countries.ts";
import { type Esim, findEsim } from "../esim/esim.ts";
import {
  type AssignedNumber,
  assignNumber,
  customerInfoSchema,
  isInUse,
  type NumberType,
  numberTypes,
} from "./number.ts";

export const newNumberSchema = z
  .object({
    esimReference: z.string(),
    countryCode: z
      .string()
      .regex(/^[A-Za-z]{2,6}$/, "expected 2 to 6 letters, such as NL or GLOBAL")
      .toUpperCase()
      .meta({ description: "Two letters (ISO 3166-1), or a regional code of three to six, such as GLOBAL" }),
    type: z.enum(numberTypes).default("mobile"),
    isPrimary: z.boolean().default(true),
    customerInfo: customerInfoSchema,
  })
  .meta({ id: "NewNumber" });

/** A new number that `newNumberSchema` has let pass. */
export type NewNumber = z.output<typeof newNumberSchema>;

/** Gives the eSIM a new number of that country. The service emits no event for it. */
export function allocateNumber(service: Service, order: NewNumber): AssignedNumber {
  return service.db.transaction(() => {
    const { countryCode, type, isPrimary, customerInfo } = order;
    const esim = findEsim(service, order.esimReference);
    if (countryCode.length === 2 && !findCountry(countryCode)) {
      throw new Refused(
        "invalid",
        `countryCode: there is no country ${countryCode}. Use two letters (ISO 3166-1), such as NL, or a regional code, such as GLOBAL.`,
      );
    }
    if (!customerInfo.address.streetNumber && isPortingDutchNumber(service, esim)) {
      throw new Refused(
        "invalid",
        "customerInfo.address.streetNumber: it is missing, and porting a Dutch number into this eSIM needs it. Add it.",
      );
    }
    if (esim.lifecycleStatus === "terminated") {
      throw new Refused(
        "illegal_transition",
        "The eSIM is terminated: it gets no number. Order another one.",
      );
    }
    let msisdn = makeUpMsisdn(service.random, countryCode, type);
    while (isInUse(service, msisdn)) msisdn = makeUpMsisdn(service.random, countryCode, type);
    return assignNumber(service, esim, { msisdn, countryCode, type, isPrimary, customerInfo });
  });
}

function isPortingDutchNumber(service: Service, { esimReference }: Esim): boolean {
  const portIn = service.db.get(
    `select 1 from portIns where esimReference = ? and abandoned = 0 and status <> 'completed' and msisdn like '31%'`,
    esimReference,
  );
  return portIn !== undefined;
}

/** The calling code of a regional code such as GLOBAL: that of international networks. */
const international = "883";

const mobilePrefixes: Readonly<Record<string, string>> = { BE: "324", NL: "316" };

/**
 * A number of the country, in international form: calling code and digits. Only a mobile one of BE and NL has the form that
 * such numbers have there.
 */
function makeUpMsisdn(random: Random, countryCode: string, type: NumberType): string {
  const callingCode = findCountry(countryCode)?.callingCode ?? international;
  const prefix = {
    mobile: mobilePrefixes[countryCode] ?? callingCode,
    local: callingCode,
    tollfree: `${callingCode}800`,
  };
  // the first digit after the calling code is no 0: that would be the national trunk prefix
  const start = prefix[type] === callingCode ? `${callingCode}${2 + random.below(8)}` : prefix[type];
  const length = /^[17]/.test(callingCode) || callingCode.length === 2 ? 11 : 12;
  return start.padEnd(length, "?").replaceAll("?", () => String(random.below(10)));
}
