// Attacks on the open door: anybody may send, and nobody is known before the signature is verified.
import { describe, expect, it } from "vitest";
import { type Transport, transports } from "../transports.ts";
import { authentic, endless, forged } from "./tools/deliveries.ts";
import { flood, whileFlooded } from "./tools/flood.ts";
import { slowClient } from "./tools/slow-client.ts";
import { startVictim } from "./tools/victim.ts";

const mebibyte = 1024 * 1024;
const doors = Object.keys(transports) as Transport[];

describe.each(doors)("the open door: %s", (door) => {
  it("lets 200 authentic deliveries in during a flood of forged ones, and none of those", async () => {
    const victim = await startVictim(door);
    const genuine = Array.from({ length: 200 }, (_, n) => authentic({ id: `msg_${n}` }));
    const { result, flooded } = await whileFlooded(victim.url, endless(forged()), 16, () =>
      flood(victim.url, genuine, { connections: 4 }),
    );
    expect(result.statuses).toEqual({ 200: 200 });
    expect(Object.keys(flooded.statuses)).toEqual(["401"]);
    expect((await victim.report()).handled).toBe(200);
  });

  it("answers 408 to 200 bodies that stop half-way, and serves others meanwhile", async () => {
    const victim = await startVictim(door, { bodyTimeoutMs: 1000 });
    const { headers, body } = forged();
    const clients = await Promise.all(Array.from({ length: 200 }, () => slowClient(victim.url)));
    for (const client of clients) client.begin(headers, body.length, body.slice(0, 20));
    expect((await flood(victim.url, [authentic()], { connections: 1 })).statuses).toEqual({ 200: 1 });
    expect(new Set(await Promise.all(clients.map(({ status }) => status)))).toEqual(new Set([408]));
  });

  it("holds at most its budget of 300 bodies of 900 kB that fall silent, and lets small authentic ones in", async () => {
    const victim = await startVictim(door, { maxUnverifiedBytes: 16 * mebibyte });
    const { headers, body } = forged({ bytes: 900_000 });
    const clients = await Promise.all(Array.from({ length: 300 }, () => slowClient(victim.url)));
    for (const client of clients) client.begin(headers, body.length + 1, body);
    const statuses = clients.map(({ status }) => status);
    expect(await Promise.race(statuses)).toBe(503);
    const genuine = Array.from({ length: 50 }, () => authentic());
    expect((await flood(victim.url, genuine, { connections: 2 })).statuses).toEqual({ 200: 50 });
    const answers = await Promise.all(statuses);
    expect([...new Set(answers)].toSorted()).toEqual([408, 503]);
    // 18 fit into the budget; on a slow machine, others come when those have gone
    expect(answers.filter((status) => status === 408).length).toBeLessThan(100);
  });

  it("lets 50 small authentic deliveries in during a flood of forged ones of 900 kB, and logs few of those", async () => {
    const startedAt = performance.now();
    const victim = await startVictim(door);
    const genuine = Array.from({ length: 50 }, () => authentic());
    const { result } = await whileFlooded(victim.url, endless(forged({ bytes: 900_000 })), 16, () =>
      flood(victim.url, genuine, { connections: 1 }),
    );
    expect(result.statuses).toEqual({ 200: 50 });
    const { logged } = await victim.report();
    expect(logged["processed"]).toBe(50);
    expect(logged["no_matching_key"]).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 1000);
  });

  it("cuts off 50 clients that go on sending after their answer, a byte at a time", async () => {
    const victim = await startVictim(door);
    const clients = await Promise.all(Array.from({ length: 50 }, () => slowClient(victim.url)));
    for (const client of clients) client.begin({}, 1_000_000);
    for (const client of clients) client.drip(100);
    expect(new Set(await Promise.all(clients.map(({ status }) => status)))).toEqual(new Set([400]));
    await Promise.all(clients.map(({ ended }) => ended));
  });
});
