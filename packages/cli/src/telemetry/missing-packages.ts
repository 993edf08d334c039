/** The packages of a list that are not installed where this program is. */
export function missingPackages(names: readonly string[]): readonly string[] {
  return names.filter((name) => {
    try {
      import.meta.resolve(name);
      return false;
    } catch {
      return true;
    }
  });
}
