/** What stands where personal data stood. */
export const masked = "•••";

const activationCode = /LPA:1\$\S*|\b1\$[a-z0-9.-]+\$\S+/gi;
// numbers as people write them: ICCID, EID, MSISDN, with or without gaps
const longNumber = /\+?\d(?:[ \-.()/]{0,2}\d){9,}/g;
const dateAhead = /^(?:19|20)\d\d-\d\d-\d\d(?:[ ]\d\d(?!\d))?/;

/**
 * A text whose author may have quoted personal data, as the messages of errors do: activation codes and numbers of ten
 * digits or more are masked, wherever they are.
 */
export function maskText(text: string): string {
  return text.replace(activationCode, masked).replace(longNumber, maskNumber);
}

const address = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

/** An address is no number, nor is a date, though one may follow it. */
function maskNumber(found: string): string {
  if (address.test(found)) return found;
  const date = dateAhead.exec(found)?.[0];
  return date === undefined ? masked : date + maskText(found.slice(date.length));
}
