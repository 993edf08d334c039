import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { root } from "./run.ts";
import { missingServers } from "./servers/missing.ts";

describe("npm test without a server", () => {
  const filesOf = (globs: readonly string[]) => globs.flatMap((glob) => globSync(glob, { cwd: root }));
  const all = globSync("{packages/*/test,test}/**/*.servers.test.ts", { cwd: root });

  it("skips the files that need it, and says in a line how to get it", () => {
    const { Redis, Postgres } = missingServers((name) => name === "Redis");
    expect(Redis).toBeUndefined();
    expect(Postgres?.notice).toBe(
      "Skipped the tests that need Postgres: install it (Debian: apt-get install postgresql), start Docker, or set DATABASE_URL.",
    );
    const skipped = filesOf([Postgres?.files ?? ""]);
    expect(skipped).toContain("packages/store-postgres/test/postgres-inbox.suite.servers.test.ts");
    expect(skipped).not.toContain("packages/store-redis/test/redis-store.suite.servers.test.ts");
  });

  it("runs no test that needs a server where both are missing", () => {
    const skipped = filesOf(Object.values(missingServers(() => false)).map(({ files }) => files));
    expect(all.filter((file) => !skipped.includes(file))).toEqual(["test/missing-servers.servers.test.ts"]);
  });
});
