import assert from "node:assert/strict";
import {
  assertAnswer,
  faulted,
  type RunningServer,
  recording,
  recordingLogger,
  type Scenario,
  secret,
} from "./scenario.ts";
import { answerOn, send, sendHalf } from "./wire.ts";

/** Clients that leave half-way. */
export const leavingClients: readonly Scenario[] = [
  [
    "gives up immediately when a client disconnects half-way, and keeps serving others",
    async (withServer) => {
      const { handlers, events } = recording();
      const gone = Promise.withResolvers<void>();
      const nothing = () => {};
      const onWarning = ({ outcome }: { outcome?: unknown }) =>
        outcome === "body_incomplete" && gone.resolve();
      const logger = { debug: nothing, info: nothing, warn: onWarning, error: nothing };
      await withServer(handlers, { secret, logger }, async ({ url, shutDown }) => {
        const { headers, body } = faulted();
        const socket = await sendHalf(url, headers, body.slice(0, 40), body.length);
        socket.resetAndDestroy();
        await gone.promise;
        assertAnswer(await send(url, faulted()), 200, "processed");
        assert.equal(events.length, 1);
        await shutDown();
      });
    },
  ],
  [
    "logs body_incomplete, not body_consumed, when a client leaves while the host's own middleware takes its time",
    async (withServer) => {
      const { handlers } = recording();
      for (const isWhole of [true, false]) {
        const { logger, lines } = recordingLogger();
        const { headers, body } = faulted();
        const reached = Promise.withResolvers<void>();
        const goOn = Promise.withResolvers<void>();
        let requests = 0;
        const before = async () => {
          requests += 1;
          reached.resolve();
          if (requests === 1) await goOn.promise;
        };
        const use = async ({ url, shutDown }: RunningServer) => {
          const socket = await sendHalf(url, headers, body, isWhole ? body.length : body.length + 1);
          const ignored = answerOn(socket).then(() => assert.fail("the server does not await `before`"));
          await Promise.race([reached.promise, ignored]);
          socket.resetAndDestroy();
          assertAnswer(await send(url, faulted()), 200, "processed"); // the server has seen the client leave
          goOn.resolve();
          assertAnswer(await send(url, faulted()), 200, "processed");
          await shutDown();
        };
        await withServer(handlers, { secret, logger }, use, before);
        const outcomes = lines.filter(({ id }) => id === headers["webhook-id"]).map(({ outcome }) => outcome);
        // a body that had arrived whole may still be readable, and is authentic
        if (isWhole) assert.match(String(outcomes), /^(body_incomplete|processed)$/);
        else assert.deepEqual(outcomes, ["body_incomplete"]);
      }
    },
  ],
];

/** Many clients at the same time. */
export const concurrentClients: readonly Scenario[] = [
  [
    "runs the handler once for 100 concurrent deliveries of one id, and answers the others 200 or 503",
    async (withServer) => {
      let runs = 0;
      const handlers = {
        "*": async () => {
          runs += 1;
          await new Promise((resolve) => setImmediate(resolve));
        },
      };
      await withServer(handlers, { secret }, async ({ url }) => {
        for (let round = 0; round < 2; round++) {
          const id = `msg_race_${round}`;
          const request = faulted({ id });
          const answers = await Promise.all(Array.from({ length: 100 }, () => send(url, request)));
          const outcomes = answers.map(
            ({ status, body }) => `${status} ${JSON.parse(body).outcome ?? JSON.parse(body).code}`,
          );
          assert.equal(runs, round + 1);
          assert.equal(outcomes.filter((outcome) => outcome === "200 processed").length, 1);
          for (const outcome of outcomes) assert.match(outcome, /^(200 processed|200 duplicate|503 busy)$/);
        }
      });
    },
  ],
];
