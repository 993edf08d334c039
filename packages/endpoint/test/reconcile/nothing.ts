/** The ledger of a pass that has found nothing. */
export const nothing = {
  listed: 0,
  coming: 0,
  outOfRange: 0,
  stored: 0,
  duplicate: 0,
  conflict: 0,
  invalid: 0,
  filtered: 0,
  rejected: 0,
  unsettled: 0,
};
