// Network namespaces of this machine, each with a pair of virtual devices to the one of the servers.
import { execFileSync, spawnSync } from "node:child_process";

export type Direction = "to the servers" | "from the servers";

/** A namespace that reaches the servers, and nothing else. */
export interface Segment {
  /** The address of the servers, as seen from it. */
  readonly serverAddress: string;
  /** Runs a command in it. */
  readonly prefix: readonly string[];
  /** Drops what is sent in one direction. Connections stay as they are. */
  drop(direction: Direction): void;
  /** Lets packets wait in a queue, as on a slow line. */
  slow(): void;
  /** Undoes all of it. */
  heal(): void;
}

export interface Network {
  /** Runs a command in the namespace of the servers. */
  readonly prefix: readonly string[];
  remove(): void;
}

const names = (id: string) => ({ servers: `fleet-${id}`, segments: [1, 2].map((n) => `fleet-${id}-${n}`) });
const enter = (namespace: string): readonly string[] => ["nsenter", `--net=/run/netns/${namespace}`];

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

/** Makes the namespace of the servers and two others. Undefined where this user or kernel may not. */
export function makeNetwork(id: string): Network | undefined {
  const { servers, segments } = names(id);
  const remove = () => {
    for (const name of [...segments, servers])
      spawnSync("ip", ["netns", "delete", name], { stdio: "ignore" });
  };
  try {
    ip("netns", "add", servers);
    ip("-n", servers, "link", "set", "lo", "up");
    for (const [n, name] of segments.entries()) {
      ip("netns", "add", name);
      ip("-n", servers, "link", "add", `s${n}`, "type", "veth", "peer", "name", "up0", "netns", name);
      ip("-n", servers, "address", "add", `${addressOf(n, 1)}/30`, "dev", `s${n}`);
      ip("-n", name, "address", "add", `${addressOf(n, 2)}/30`, "dev", "up0");
      ip("-n", servers, "link", "set", `s${n}`, "up");
      for (const device of ["lo", "up0"]) ip("-n", name, "link", "set", device, "up");
    }
    return { prefix: enter(servers), remove };
  } catch {
    remove();
    return undefined;
  }
}

const addressOf = (segment: number, end: number): string => `10.213.${segment + 1}.${end}`;

/** The segments of a network that was made. */
export function segmentsOf(id: string): readonly Segment[] {
  const { servers, segments } = names(id);
  return segments.map((namespace, n) => {
    const here = { in: namespace, device: "up0", peer: addressOf(n, 1) };
    const there = { in: servers, device: `s${n}`, peer: addressOf(n, 2) };
    /** The end that sends in each direction, and the link address of the one that receives. */
    const ends = {
      "to the servers": { ...here, receiver: linkAddress(there) },
      "from the servers": { ...there, receiver: linkAddress(here) },
    };
    /** Frames to another link address than its own are dropped by the device at the other end. */
    const lead = (direction: Direction, to: string) => {
      const { in: namespace, peer, device } = ends[direction];
      ip(...`-n ${namespace} neigh replace ${peer} lladdr ${to} dev ${device} nud permanent`.split(" "));
    };
    const queueing = (end: End, action: string, discipline = "") =>
      `-n ${end.in} qdisc ${action} dev ${end.device} root ${discipline}`.trim().split(" ");
    return {
      serverAddress: addressOf(n, 1),
      prefix: enter(namespace),
      drop: (direction) => lead(direction, "02:00:00:00:00:99"),
      slow() {
        for (const end of Object.values(ends))
          execFileSync("tc", queueing(end, "replace", "tbf rate 800kbit burst 3000 latency 2s"));
      },
      heal() {
        for (const [direction, { receiver }] of Object.entries(ends)) lead(direction as Direction, receiver);
        for (const end of Object.values(ends)) spawnSync("tc", queueing(end, "delete")); // fails where none is
      },
    };
  });
}

/** A device of a pair, in its namespace. */
interface End {
  readonly in: string;
  readonly device: string;
}

function linkAddress(end: End): string {
  const output = execFileSync("ip", ["-n", end.in, "-json", "link", "show", "dev", end.device], {
    encoding: "utf8",
  });
  return (JSON.parse(output) as [{ address: string }])[0].address;
}
