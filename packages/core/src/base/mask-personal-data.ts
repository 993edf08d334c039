import { masked, maskSecrets } from "./mask-secrets.ts";

const activationCode = /LPA:1\$\S*|\b1\$[a-z0-9.-]+\$\S+/gi;

/**
 * Masks secrets, activation codes and numbers of ten digits or more anywhere in a text that may quote personal data, such as an
 * error's message. Takes time in proportion to the length of any text.
 */
export function maskPersonalData(text: string): string {
  return maskNumbers(maskSecrets(text).replace(activationCode, masked));
}

const numberStart = /\+?\d/g;
// ICCID, EID, MSISDN, with or without separators. One pattern for the whole number would overflow the stack of the engine.
const numberPart = /\d+|[ \-.()/]{1,2}(?=\d)/y;

function maskNumbers(text: string): string {
  let shown = "";
  let end = 0;
  numberStart.lastIndex = 0;
  for (let found = numberStart.exec(text); found !== null; found = numberStart.exec(text)) {
    shown += text.slice(end, found.index);
    end = numberEnd(text, numberStart.lastIndex);
    shown += maskNumber(text.slice(found.index, end));
    numberStart.lastIndex = end;
  }
  return shown + text.slice(end);
}

function numberEnd(text: string, start: number): number {
  let end = start;
  numberPart.lastIndex = start;
  while (numberPart.test(text)) end = numberPart.lastIndex;
  return end;
}

const fewestDigits = 10;
const date = /(?:19|20)\d\d-\d\d-\d\d(?:[ ]\d\d(?!\d))?\D*/y;
const ipAddress = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

/** Leaves short numbers and IP addresses, and dates; a number may follow them. */
function maskNumber(number: string): string {
  let rest = 0;
  let digits = digitsIn(number);
  date.lastIndex = 0;
  while (digits >= fewestDigits && date.test(number)) {
    digits -= digitsIn(number.slice(rest, date.lastIndex));
    rest = date.lastIndex;
  }
  const last = number.slice(rest);
  const isHarmless = digits < fewestDigits || ipAddress.test(last);
  return number.slice(0, rest) + (isHarmless ? last : masked);
}

function digitsIn(text: string): number {
  return text.replace(/\D/g, "").length;
}
