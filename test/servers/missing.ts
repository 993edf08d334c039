import { existsSync } from "node:fs";
import { canInstall, find } from "./binaries.ts";

/** The servers that tests share, and the packages whose `.servers.test.ts` files need each. */
const shared = {
  Redis: {
    variable: "REDIS_URL",
    program: "redis-server",
    debianPackage: "redis-server",
    packages: ["cli", "endpoint", "queue-bullmq", "store-redis"],
  },
  Postgres: {
    variable: "DATABASE_URL",
    program: "initdb",
    debianPackage: "postgresql",
    packages: ["cli", "endpoint", "queue-bullmq", "store-postgres"],
  },
} as const;

export type SharedServer = keyof typeof shared;

export interface MissingServer {
  /** The skipped files, as a glob. */
  readonly files: string;
  /** A line that says what is skipped, and how to get the server. */
  readonly notice: string;
}

/** The shared servers that cannot be started here. Empty where all can. */
export function missingServers(
  isAvailable: (name: SharedServer) => boolean = canStart,
): Partial<Record<SharedServer, MissingServer>> {
  const missing = (Object.keys(shared) as SharedServer[]).filter((name) => !isAvailable(name));
  return Object.fromEntries(missing.map((name) => [name, missingServer(name)]));
}

function missingServer(name: SharedServer): MissingServer {
  const { variable, debianPackage, packages } = shared[name];
  return {
    files: `packages/{${packages.join(",")}}/test/**/*.servers.test.ts`,
    notice: `Skipped the tests that need ${name}: install it (Debian: apt-get install ${debianPackage}), start Docker, or set ${variable}.`,
  };
}

function canStart(name: SharedServer): boolean {
  const { variable, program } = shared[name];
  return Boolean(process.env[variable]) || hasDocker() || find(program) !== undefined || canInstall();
}

const hasDocker = () => Boolean(process.env["DOCKER_HOST"]) || existsSync("/var/run/docker.sock");
