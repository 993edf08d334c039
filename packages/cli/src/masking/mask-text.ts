/** Replaces personal data. */
export const masked = "•••";

const activationCode = /LPA:1\$\S*|\b1\$[a-z0-9.-]+\$\S+/gi;
// ICCID, EID, MSISDN, with or without separators
const longNumber = /\+?\d(?:[ \-.()/]{0,2}\d){9,}/g;
const leadingDate = /^(?:19|20)\d\d-\d\d-\d\d(?:[ ]\d\d(?!\d))?/;

/**
 * Masks activation codes and numbers of ten digits or more anywhere in a text that may quote personal data, such as an
 * error's message.
 */
export function maskText(text: string): string {
  return text.replace(activationCode, masked).replace(longNumber, maskNumber);
}

const ipAddress = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

/** Leaves an IP address, and a date; a number may follow the date. */
function maskNumber(found: string): string {
  if (ipAddress.test(found)) return found;
  const date = leadingDate.exec(found)?.[0];
  return date === undefined ? masked : date + maskText(found.slice(date.length));
}
