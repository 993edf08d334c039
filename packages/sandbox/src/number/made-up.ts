import type { Random } from "../base/random.ts";
import { findCountry } from "../esim/countries.ts";
import type { NumberType } from "./number.ts";

/** What a regional code such as GLOBAL has for a calling code: that of international networks. */
const international = "883";

const mobilePrefixes: Readonly<Record<string, string>> = { BE: "324", NL: "316" };

/**
 * A number of the country, in international form: calling code and digits. Only a mobile one of BE and NL has the form that
 * such numbers have there.
 */
export function makeUpMsisdn(random: Random, countryCode: string, type: NumberType): string {
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
