import { join } from "node:path";
import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, expect, it, vi } from "vitest";
import { installed } from "../../../test/installed.ts";

// the oldest version that the package supports, in place of the one that it is developed with
const packages = installed("test/nest-11");
const load = (name: string) => import(join(packages, "@nestjs", name, "index.js"));
for (const name of ["common", "core", "platform-express", "platform-fastify", "testing"]) {
  vi.doMock(`@nestjs/${name}`, () => load(name));
}
const { moduleTests } = await import("./module-tests.ts");
const { onNest, platforms } = await import("./nest-app.ts");

moduleTests("Nest 11");
for (const platform of platforms) {
  receiverSuite(`Nest 11 on ${platform.name}`, onNest(platform), { describe: describe.concurrent, it });
}

it("has run on Nest 11", async () => {
  const { NestFactory } = await load("core");
  expect((await import("@nestjs/core")).NestFactory).toBe(NestFactory);
});
