/**
 * Runs the functions alternately, so that other load on the machine affects all of them alike. Every second round runs them in
 * reverse order. Otherwise what one leaves behind, such as pages that a server must still write, would always count against the same one. The
 * first run warms up.
 */
export async function inTurns<Name extends string, Figure>(
  measured: Readonly<Record<Name, () => Promise<Figure>>>,
  times: number,
): Promise<Record<Name, Figure[]>> {
  const names = Object.keys(measured) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Figure[]>;
  for (const name of names) await measured[name]();
  for (let round = 0; round < times; round++) {
    for (const name of names) figures[name].push(await measured[name]());
    names.reverse();
  }
  return figures;
}

export function line(what: string, figure: string, wanted = ""): void {
  console.log(`  ${what.padEnd(46)} ${figure.padStart(12)}${wanted && `   wanted: ${wanted}`}`);
}

export const perSecond = (figure: number) => `${Math.round(figure).toLocaleString("en")}/s`;
export const ms = (figure: number) => `${figure.toFixed(1)} ms`;
export const micros = (figure: number) => `${figure.toFixed(1)} µs`;
export const times = (figure: number) => `${figure.toFixed(2)} ×`;
export const percent = (part: number) => `${(part * 100).toFixed(0)} %`;
