// npm run bench -- http, redis, hostile: an adapter compared with hand-written routes, other libraries, and forged deliveries.
import { availableParallelism } from "node:os";
import { newSecret } from "@esim-webhooks/core/testing";
import { privateRedis } from "../test/servers/index.ts";
import { benchFlood } from "./http/flood.ts";
import { benchHostile } from "./http/hostile.ts";
import { benchMiddlewares, benchPeers, benchRedis } from "./http/peers.ts";

const frameworks = ["fastify", "express"] as const;

export async function benchHttp(): Promise<void> {
  const secret = newSecret();
  printCores();
  for (const framework of frameworks) await benchPeers(framework, secret);
  await benchMiddlewares(secret);
}

export async function benchHttpRedis(): Promise<void> {
  const secret = newSecret();
  printCores();
  const redis = await privateRedis();
  try {
    for (const framework of frameworks) await benchRedis(framework, secret, redis.url);
  } finally {
    await redis.close();
  }
}

export async function benchForged(): Promise<void> {
  const secret = newSecret();
  printCores();
  await benchHostile(secret);
  await benchFlood();
}

function printCores(): void {
  console.log(`\n${availableParallelism()} cores for the server and the load`);
}
