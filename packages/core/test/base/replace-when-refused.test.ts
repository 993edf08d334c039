import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type ReplaceableClient, replaceWhenRefused } from "../../src/base/replace-when-refused.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A client with another socket at each reconnect, and how it answers an error of its server. */
function replaceable(options: ReplaceableClient["options"] = {}) {
  const client = { options, stream: {} };
  replaceWhenRefused(client);
  return {
    options,
    refused(message: string, command = "evalsha") {
      const answer = options.reconnectOnError?.(
        Object.assign(new Error(message), { command: { name: command } }),
      );
      if (answer) client.stream = {};
      return answer;
    },
  };
}

const readonly = "READONLY You can't write against a read only replica.";

it.each([
  readonly,
  "Error running script: @user_script:3: -READONLY You can't write against a read only replica.",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "LOADING Redis is loading the dataset in memory",
  "CLUSTERDOWN The cluster is down",
  "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
])("reconnects, and sends the command again, after %j", (message) => {
  expect(replaceable().refused(message)).toBe(2);
});

it("sends no WAIT again, which would confirm a lost write on the new connection", () => {
  expect(replaceable().refused("ERR WAIT cannot be used with replica instances.", "wait")).toBe(1);
  expect(replaceable().refused("UNBLOCKED force unblock", "WAITAOF")).toBe(1);
});

it("stays connected after other errors", () => {
  expect(replaceable().refused("WRONGTYPE Operation against a key READONLY")).toBe(false);
});

it("reports the error of a server that refuses again within a second", () => {
  const { refused } = replaceable();
  expect([refused(readonly), refused(readonly)]).toEqual([2, false]);
  vi.advanceTimersByTime(1000);
  expect(refused(readonly)).toBe(2);
});

it("reconnects a client that waits for Redis once a second while it is refused", () => {
  const { refused, options } = replaceable({ maxRetriesPerRequest: null, retryStrategy: () => 50 });
  expect([refused(readonly), options.retryStrategy?.(1)]).toEqual([2, 50]);
  vi.advanceTimersByTime(50);
  expect([refused(readonly), options.retryStrategy?.(1)]).toEqual([2, 1000]);
});

it("leaves the reconnectOnError of a user alone, but not ours, which a duplicate has copied", () => {
  const theirs = () => false;
  const options = { reconnectOnError: theirs };
  replaceWhenRefused({ options });
  expect(options.reconnectOnError).toBe(theirs);
  const first = replaceable({ maxRetriesPerRequest: null, retryStrategy: () => 50 });
  const duplicate = replaceable({ ...first.options });
  expect([first.refused(readonly), first.refused(readonly)]).toEqual([2, 2]);
  expect(duplicate.refused(readonly)).toBe(2);
  expect(duplicate.options.retryStrategy?.(1)).toBe(50); // that of the first is 1000
});
