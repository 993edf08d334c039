// Attacks on a receiver of many endpoints: strangers may ask for any path, at any time.
import type { FoundEndpoint } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { loggerWith } from "../support/loggers.ts";
import { type Transport, transports } from "../transports.ts";
import { authentic, endless, forged, secret } from "./tools/deliveries.ts";
import { flood, whileFlooded } from "./tools/flood.ts";

const doors = Object.keys(transports) as Transport[];
const handlers = { "*": () => {} };
const logger = loggerWith();

it.each(doors)(
  "%s answers no authentic delivery 404 while strangers ask for the path all the time, before and after it is added",
  async (door) => {
    const time = { now: Date.now() };
    const rows = new Map<string, FoundEndpoint>();
    const endpoints = async (path: string) => {
      const found = rows.get(path.slice(path.lastIndexOf("/") + 1)); // the table as it is when the lookup begins
      await new Promise(setImmediate);
      return found ?? null;
    };
    const options = { endpoints, logger, clock: { now: () => time.now }, toleranceSeconds: 300 };
    const server = await transports[door](handlers, options, async () => {});
    try {
      for (let round = 0; round < 4; round += 1) {
        const name = `brand-${round}`;
        const url = `${server.url.replace(/\/$/, "")}/${name}`;
        const { result, flooded } = await whileFlooded(url, endless(forged()), 8, async () => {
          await flood(url, [forged(), forged(), forged()], { connections: 1 }); // the path rests, or is being looked up
          rows.set(name, { source: name, secret });
          const answers: number[] = [];
          for (let attempt = 0; attempt < 20 && answers.at(-1) !== 200; attempt += 1) {
            const { statuses } = await flood(url, [authentic()], { connections: 1 });
            answers.push(...Object.keys(statuses).map(Number));
            time.now += 1000;
          }
          return answers;
        });
        expect(result.at(-1)).toBe(200);
        expect(result).not.toContain(404);
        expect(Object.keys(flooded.statuses)).toContain("503");
      }
    } finally {
      await server.close();
    }
  },
);
