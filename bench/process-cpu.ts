import { readdirSync, readFileSync } from "node:fs";

const microsPerTick = 10_000; // USER_HZ is 100 on every architecture of Linux

interface Process {
  readonly parent: number;
  readonly own: number;
  /** CPU of its children that have ended. */
  readonly ended: number;
}

/** Undefined for a process that has ended, and where there is no Linux. */
function read(pid: number): Process | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = line
      .slice(line.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map(
      (at) => fields[at],
    );
    return {
      parent,
      own: (user + system) * microsPerTick,
      ended: (endedUser + endedSystem) * microsPerTick,
    };
  } catch {
    return undefined;
  }
}

/** The CPU time of a process so far, in µs. NaN where there is no Linux. */
function cpuOf(pid: number): number {
  return read(pid)?.own ?? Number.NaN;
}

/** How long the main thread of a process has waited for a core so far, in µs. NaN where there is no Linux. */
export function coreWaitOf(pid: number): number {
  try {
    const [, nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1000;
  } catch {
    return Number.NaN;
  }
}

/** The process that has started this one: of a backend of Postgres, its server. */
export function parentOf(pid: number): number {
  return read(pid)?.parent ?? 0;
}

/** The CPU time of a server and of its children, in µs. */
function familyCpuOf(server: number): number {
  const family = read(server);
  if (family === undefined) return Number.NaN;
  const children = readdirSync("/proc")
    .map((name) => read(Number(name)))
    .filter((process) => process?.parent === server);
  return children.reduce((sum, child) => sum + (child?.own ?? 0), family.own + family.ended);
}

/** The cost of one event, in µs of CPU. */
export interface CpuOfEvent {
  readonly ours: number;
  readonly server: number;
}

/** Runs `work`, which handles that many events in this process or in that of `pid`, with the process of a server. */
export async function withCpu<Figure>(
  events: number,
  server: number,
  work: () => Promise<Figure>,
  pid: number = process.pid,
): Promise<{ readonly figure: Figure; readonly cpu: CpuOfEvent }> {
  const [before, serverBefore] = [cpuOf(pid), familyCpuOf(server)];
  const figure = await work();
  return {
    figure,
    cpu: { ours: (cpuOf(pid) - before) / events, server: (familyCpuOf(server) - serverBefore) / events },
  };
}
