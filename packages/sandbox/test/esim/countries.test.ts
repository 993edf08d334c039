import { expect, test } from "vitest";
import { countryWithMcc, findCountry } from "../../src/esim/countries.ts";

const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const countries = letters.flatMap((first) => letters.flatMap((second) => findCountry(first + second) ?? []));

test("every country has a calling code and, if it has networks of its own, one that leads back to it", () => {
  expect(countries.length).toBeGreaterThan(240);
  for (const { countryCode, callingCode, network } of countries) {
    expect([countryCode, callingCode]).toEqual([countryCode, expect.stringMatching(/^[1-9]\d{0,3}$/)]);
    if (network === undefined) continue;
    expect(network).toMatch(/^[2-7]\d\d-\d{2,3}$/);
    expect([network, countryWithMcc(network.slice(0, 3))]).toEqual([network, countryCode]);
  }
});

test.each([
  ["204", "NL"],
  ["206", "BE"],
  ["235", "GB"],
  ["311", "US"],
  ["316", "US"],
  ["441", "JP"],
  ["405", "IN"],
  ["901", undefined],
  ["000", undefined],
])("the MCC %s is of %s", (mcc, country) => {
  expect(countryWithMcc(mcc)).toBe(country);
});
