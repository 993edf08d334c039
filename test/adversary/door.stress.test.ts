// Attacks on the open door: anybody may send, and nobody is known before the signature is verified.
import { describe, expect, it } from "vitest";
import { type Transport, transports } from "../transports.ts";
import { authentic, endless, forged } from "./tools/deliveries.ts";
import { flood, whileFlooded } from "./tools/flood.ts";
import { slowClient } from "./tools/slow-client.ts";
import { startVictim } from "./tools/victim.ts";

const doors = Object.keys(transports) as Transport[];

describe.each(doors)("the open door: %s", (door) => {
  it("lets 200 authentic deliveries in beside a flood of forged ones, and none of those", async () => {
    const victim = await startVictim(door);
    const genuine = Array.from({ length: 200 }, (_, n) => authentic({ id: `msg_${n}` }));
    const { result, flooded } = await whileFlooded(victim.url, endless(forged()), 16, () =>
      flood(victim.url, genuine, { connections: 4 }),
    );
    expect(result.statuses).toEqual({ 200: 200 });
    expect(Object.keys(flooded.statuses)).toEqual(["401"]);
    expect((await victim.report()).handled).toBe(200);
  });

  it("answers 503 to 200 bodies that stop half-way, and serves others meanwhile", async () => {
    const victim = await startVictim(door, { deadlineMs: 1000 });
    const { headers, body } = forged();
    const clients = await Promise.all(Array.from({ length: 200 }, () => slowClient(victim.url)));
    for (const client of clients) client.begin(headers, body.length, body.slice(0, 20));
    expect((await flood(victim.url, [authentic()], { connections: 1 })).statuses).toEqual({ 200: 1 });
    expect(new Set(await Promise.all(clients.map(({ status }) => status)))).toEqual(new Set([503]));
  });
});
