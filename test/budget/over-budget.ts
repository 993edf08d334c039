import type { Limits } from "./limits.ts";

export interface MeasuredFile {
  readonly project: string;
  readonly name: string;
  /** In seconds, with that of its children. */
  readonly cpu: number;
  readonly isFirst: boolean;
}

export interface MeasuredRun {
  /** In seconds, as `cpu`. */
  readonly wall: number;
  readonly cpu: number;
  /** How long the measured loop took, as a multiple of the limits' one. */
  readonly speed: number;
  readonly files: readonly MeasuredFile[];
}

const slack = 1.2;

/** Describes each tier and file that takes over a fifth more than its limit, by the speed of the machine. */
export function overBudget({ wall, cpu, speed, files }: MeasuredRun, limits: Limits): string[] {
  const over = (subject: string, seconds: number, limit: number) => {
    const scaled = limit * speed * slack;
    return seconds > scaled
      ? [`${subject} took ${seconds.toFixed(1)} s of ${scaled.toFixed(1)} (${limit} s).`]
      : [];
  };
  const ran = new Set(files.map(({ project }) => project));
  const tiers = Object.entries(limits.tiers).filter(([, { projects }]) =>
    projects.every((name) => ran.has(name)),
  );
  return tiers.flatMap(([name, tier]) => [
    ...over(name, wall, tier.wall),
    ...over(`the CPU of ${name}`, cpu, tier.cpu),
    ...(name === "npm test" ? files : []).flatMap((file) => {
      const limit = file.name.includes(".suite.") ? limits.suite : limits.file;
      return over(file.name, file.cpu, limit + (file.isFirst ? limits.loading : 0));
    }),
  ]);
}
