// Deliberate faults, as changes of one place in the sources. Each must be noticed by every check that it names.

/** A replacement of one piece of text, which must be there exactly once. */
export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Test files. */
  readonly checks: readonly string[];
}

const random = "lab/test/trace.lab.test.ts";
const disks = "lab/test/disks.lab.test.ts";
const fleets = "lab/test/fleets.lab.test.ts";
const memorySuite = "packages/core/test/memory/memory-inbox.suite.test.ts";

export const faults: readonly Fault[] = [
  {
    name: "the fence is not checked at settle (SQLite)",
    file: "packages/store-sqlite/src/sql/settle.ts",
    before: "where id = ? and source = ? and fence = ? and state = 'leased' returning lane`",
    after: "where id = ? and source = ? and coalesce(fence, ?) is not null returning lane`",
    checks: [random, fleets],
  },
  {
    name: "the fence is not checked at settle (in memory)",
    file: "packages/core/src/memory/memory-queue.ts",
    before: 'if (row?.state !== "leased" || row.token !== held.token) return false;',
    after: "if (row === undefined) return false;",
    checks: [memorySuite, random],
  },
  {
    name: "a delivery is acknowledged before it is committed",
    file: "packages/core/src/receive/target.ts",
    before:
      "const [code] = await putEntries(inbox, [inboxEntry(parsed, { source, id, body, receivedAt, key })]);",
    after:
      'const [code]: PutResult[] = ["stored"]; void putEntries(inbox, [inboxEntry(parsed, { source, id, body, receivedAt, key })]).catch(() => {});',
    checks: ["packages/core/test/receive/receiver.test.ts", "test/transports.suite.test.ts"],
  },
  {
    name: "a leased event does not hold its lane (SQLite)",
    file: "packages/store-sqlite/src/sql/lane.ts",
    before: `where worked.lane = \${row}.lane and worked.lane is not null and worked.state = 'leased'`,
    after: `where worked.lane = \${row}.lane and worked.lane is not null and worked.state = 'leased' and false`,
    checks: [random],
  },
  {
    name: "a leased event does not hold its lane (in memory)",
    file: "packages/core/src/memory/memory-lanes.ts",
    before: 'if (state === "leased") worked.add(lane);',
    after: "",
    checks: [memorySuite],
  },
  {
    name: "a processor continues with a claim that is lost",
    file: "packages/core/src/process/claim.ts",
    before: "const isRenewed = await store.extend(key, token, leaseMs);",
    after: "const isRenewed = await store.extend(key, token, leaseMs).then(() => true);",
    checks: ["packages/core/test/process"],
  },
  {
    name: "a rotation ends the old key when it stores the new one",
    file: "packages/endpoint/src/rotate/store-new-key.ts",
    before: "const endMs = nowMs + overlapMs;",
    after: "const endMs = nowMs;",
    checks: ["packages/endpoint/test/rotate/rotate-secret.rest.test.ts"],
  },
  {
    name: "a rotation calls the service before receivers hold off unknown signatures",
    file: "packages/endpoint/src/rotate/rotation-steps.ts",
    before: "return { nextStep, keys: holdingOff(nowMs), ...(whenWritten && { whenWritten }) };",
    after: "return { nextStep, ...(whenWritten && { whenWritten }) };",
    checks: ["packages/endpoint/test/rotate/rotate-secret.rest.test.ts"],
  },
  {
    name: "a frequent reconciliation reads only what is listed after the last one",
    file: "packages/endpoint/src/reconcile/depth.ts",
    before: "Math.max(mark, head) - Math.min(overlapMs, 10 * minuteMs)",
    after: "Math.max(mark, head)",
    checks: ["packages/endpoint/test/reconcile/large.rest.test.ts"],
  },
  {
    name: "the hourly reconciliation reads only what is listed after the watermark",
    file: "packages/endpoint/src/reconcile/depth.ts",
    before: "mark - overlapMs - hourMs",
    after: "mark",
    checks: ["packages/endpoint/test/reconcile/watermark.rest.test.ts"],
  },
  {
    name: "a lease that follows an ended one has the same fence (in memory)",
    file: "packages/core/src/memory/memory-queue.ts",
    before: "const token = String(++lastToken);",
    after: 'const token = row.token === "" ? String(++lastToken) : row.token;',
    checks: [memorySuite, random],
  },
  {
    name: "a lease that follows an ended one has the same fence (SQLite)",
    file: "packages/store-sqlite/src/sql/take.ts",
    before: `set state = 'leased', fence = \${newFence},`,
    after: `set state = 'leased', fence = coalesce(fence, \${newFence}),`,
    checks: [random],
  },
  {
    name: "a redelivery makes a dead event ready (SQLite)",
    file: "packages/store-sqlite/src/sql/put.ts",
    before: '  if (!differs(row, present)) return "already_stored";',
    after:
      "  if (!differs(row, present)) tx.run(\"update esim_webhooks_event set state = 'ready', due_at = ? where state = 'dead' and id = ?\", tx.nowMs, row.id);\n" +
      '  if (!differs(row, present)) return "already_stored";',
    checks: [random],
  },
  {
    name: "the purge removes bodies of events that have just ended (SQLite)",
    file: "packages/store-sqlite/src/sql/forget.ts",
    before: "and settled_at <= $untilMs order by settled_at",
    after: "order by settled_at",
    checks: [random, "packages/store-sqlite/test/sqlite-inbox.suite.test.ts"],
  },
  {
    name: "a handler starts while its abandoned one runs",
    file: "packages/core/src/work/run-event.ts",
    before: "if (limits.isAbandoned(taken)) {",
    after: "if (limits.isAbandoned(taken) && tries < 0) {",
    checks: [memorySuite],
  },
  {
    name: "latestOnly runs an older event (SQLite)",
    file: "packages/store-sqlite/src/latest-only.ts",
    before: "subject in (?, ?) and occurred_at > ?",
    after: "subject in (?, ?) and occurred_at < ?",
    checks: ["packages/store-sqlite/test/worker.test.ts"],
  },
  {
    name: "a paused event is taken (SQLite)",
    file: "packages/store-sqlite/src/sql/pause.ts",
    before: "types: active.filter((type) => type !== allTypes) };",
    after: "types: [] };",
    checks: ["packages/store-sqlite/test/pausing.test.ts"],
  },
  {
    name: "an import with force runs an erased event (SQLite)",
    file: "packages/store-sqlite/src/sql/put.ts",
    before: "and state = 'done' and erased_at is null",
    after: "and state = 'done'",
    checks: [random],
  },
  {
    name: "an event of a lane is taken while one before it is held (SQLite)",
    file: "packages/store-sqlite/src/sql/lane.ts",
    before: "ahead.lane is not null and ahead.state in ('ready', 'leased')\n        and",
    after: "ahead.lane is not null and ahead.state in ('ready', 'leased') and held = 0\n        and",
    checks: ["packages/store-sqlite/test/pausing.test.ts"],
  },
  {
    name: "a signature is compared by 40 of its 44 characters",
    file: "packages/core/src/verify/signature.ts",
    before: "if (timingSafeEqual(given, expected)) return { key, prefix };",
    after: "if (timingSafeEqual(given.subarray(0, 40), expected.subarray(0, 40))) return { key, prefix };",
    checks: ["packages/core/test/verify/signature.test.ts", "lab/test/inputs.test.ts"],
  },
  {
    name: "a body that is one byte too long is hashed immediately",
    file: "packages/core/src/verify/signing-key.ts",
    before: "if (end > inner.byteLength) {",
    after: "if (end > inner.byteLength + 1) {",
    checks: ["packages/core/test/verify/signing-key.test.ts"],
  },
  {
    name: "a worker's lease is counted from the answer to its renewal",
    file: "packages/core/src/work/leases.ts",
    before: 'advance(lease, renewed[index] ? { kind: "renewed", askedAt: now }',
    after: 'advance(lease, renewed[index] ? { kind: "renewed", askedAt: performance.now() }',
    checks: ["packages/core/test/work/in-flight.test.ts"],
  },
  {
    name: "a worker's lease is counted from the answer to its take",
    file: "packages/core/src/work/leases.ts",
    before: "heldUntil: takenAt + leaseMs",
    after: "heldUntil: performance.now() + leaseMs",
    checks: ["packages/core/test/work/worker.test.ts"],
  },
  {
    name: "a worker judges its leases by the wall clock",
    file: "packages/core/src/work/leases.ts",
    before: "    const now = performance.now();",
    after: "    const now = Date.now() - performance.timeOrigin;",
    checks: ["lab/test/clocks.lab.test.ts"],
  },
  {
    name: "a claim is counted from the answer to its renewal",
    file: "packages/core/src/process/claim.ts",
    before: '{ kind: "renewed", askedAt: renewedAt }',
    after: '{ kind: "renewed", askedAt: performance.now() }',
    checks: ["packages/core/test/process/dispatch.test.ts"],
  },
  {
    name: "a claim is counted from the store's answer",
    file: "packages/core/src/process/claimed-work.ts",
    before: "const heldUntil = askedAt + leaseMs;",
    after: "const heldUntil = performance.now() + leaseMs;",
    checks: ["packages/core/test/process/dispatch.test.ts"],
  },
  {
    name: "the time of a dead event's body is counted from when it was received (Postgres)",
    file: "packages/store-postgres/src/sql/forget.ts",
    before: ` and settled_at <= \${until}`,
    after: "",
    checks: ["packages/store-postgres/test/postgres-inbox.suite.servers.test.ts"],
  },
  {
    name: "a DynamoDB claim ends leases by the latest time that may be",
    file: "packages/lambda/src/dynamo-store/dynamo-store.ts",
    before: 'const values = { ":now": number(clock.earliest()) };',
    after: 'const values = { ":now": number(clock.latest()) };',
    checks: ["packages/lambda/test/dynamo-store.rest.test.ts"],
  },
  {
    name: "a settlement ends a later lease (Postgres)",
    file: "packages/store-postgres/src/schema/settle-functions.ts",
    before:
      "and settled.fence = given.fence and settled.state = 'leased'\n      returning settled.fence, settled.lane\n",
    after:
      "and settled.fence >= given.fence and settled.state = 'leased'\n      returning settled.fence, settled.lane\n",
    checks: ["packages/store-postgres/test/postgres-inbox.suite.servers.test.ts"],
  },
  {
    name: "a claim whose lease has ended is renewed (Postgres)",
    file: "packages/store-postgres/src/sql/claim.ts",
    before: `return sql\`\${held(key, token)} and leased_until > \${serverTime}\`;`,
    after: "return held(key, token);",
    checks: ["packages/store-postgres/test/postgres-store.suite.rest.test.ts"],
  },
  {
    name: "a handler's transaction commits though another owner has the claim (Postgres)",
    file: "packages/store-postgres/src/sql/claim.ts",
    before: `\${done(retentionMs)} where \${held(key, token)}\``,
    after: `\${done(retentionMs)} where source = \${key.source} and id = \${key.id}\``,
    checks: [fleets, "packages/store-postgres/test/transact.rest.test.ts"],
  },
  {
    name: "an operation waits for a connection until no time is left for its query (Postgres)",
    file: "packages/store-postgres/src/database/watched-pool.ts",
    before: "createSlots(most, timeoutMs / 2)",
    after: "createSlots(most, timeoutMs)",
    checks: ["packages/store-postgres/test/watched-pool.test.ts"],
  },
  {
    name: "a take leases an event of a paused type that is not held (Postgres)",
    file: "packages/store-postgres/src/schema/take-functions.ts",
    before: "except_types := except_types || paused;",
    after: "",
    checks: ["packages/store-postgres/test/pauses.rest.test.ts"],
  },
  {
    name: "a take does not lock its lanes, and waits for another one (Postgres)",
    file: "packages/store-postgres/src/schema/take-functions.ts",
    before: `"pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0))"`,
    after: '"lane is not null"',
    checks: ["packages/store-postgres/test/operations.servers.test.ts"],
  },
  {
    name: "a state is written over another version (Postgres)",
    file: "packages/store-postgres/src/sql/state.ts",
    before: `where name = \${name} and version = \${version}::bigint\`;`,
    after: `where name = \${name} and \${version}::bigint is not null\`;`,
    checks: ["packages/store-postgres/test/postgres-state.suite.servers.test.ts"],
  },
  {
    name: "a claim is completed by an owner that has lost it (Redis)",
    file: "packages/store-redis/src/scripts.ts",
    before: "  if held ~= 'c' .. token then return 0 end\n",
    after: "",
    checks: [fleets, "packages/store-redis/test/redis-store.suite.servers.test.ts"],
  },
  {
    name: "a claim is released by an owner that has lost it (Redis)",
    file: "packages/store-redis/src/scripts.ts",
    before: `  if redis.call('GET', key) ~= 'c' .. token then return 0 end
  return redis.call('DEL', key)`,
    after: "  return redis.call('DEL', key)",
    checks: [fleets, "packages/store-redis/test/redis-store.suite.servers.test.ts"],
  },
  {
    name: "a call of the Redis store has no time limit",
    file: "packages/store-redis/src/open-redis.ts",
    before: "    timeoutMs,\n    logger,\n    async check(signal)",
    after: "    timeoutMs: 86_400_000,\n    logger,\n    async check(signal)",
    checks: ["packages/store-redis/test/redis-store.suite.servers.test.ts"],
  },
  {
    name: "an add that Redis refuses leaves its deduplication key (BullMQ)",
    file: "packages/queue-bullmq/src/redis/atomic-add.ts",
    before: "if not deduplicationKey or redis.call",
    after: "if true or not deduplicationKey or redis.call",
    checks: ["packages/queue-bullmq/test/bullmq-inbox.rest.test.ts"],
  },
  {
    name: "WAITAOF on a new connection confirms the writes of the old one (BullMQ)",
    file: "packages/queue-bullmq/src/redis/wait-aof.ts",
    before: "if (redis.stream !== stream) throw connectionReplaced();",
    after: "",
    checks: ["packages/queue-bullmq/test/wait-aof.servers.test.ts"],
  },
  {
    name: "deleting dead events removes one that was redriven meanwhile (BullMQ)",
    file: "packages/queue-bullmq/src/admin/delete-dead.ts",
    before: 'if redis.call("ZREM", failed, id) == 0 then return 0 end',
    after: 'redis.call("ZREM", failed, id)',
    checks: ["packages/queue-bullmq/test/bullmq-inbox.rest.test.ts"],
  },
  {
    name: "the messages of a group are handled after one that failed (SQS)",
    file: "packages/lambda/src/sqs-handler.ts",
    before: "if (signal.aborted || !(await handleSafely(record, signal))) return;",
    after: "if (signal.aborted) return;\n        if (!(await handleSafely(record, signal))) continue;",
    checks: ["packages/lambda/test/sqs.test.ts"],
  },
  {
    name: "a delivery is acknowledged though SQS has refused its message",
    file: "packages/lambda/src/sqs-inbox.ts",
    before: `if (Successful.some(({ Id }) => Id === \`\${index}\`)) return "stored";`,
    after: 'if (Successful.length > 0) return "stored";',
    checks: ["packages/lambda/test/sqs.test.ts"],
  },
  {
    name: "cached keys refuse a signature by a newer key (AWS)",
    file: "packages/lambda/src/keys/cached-keys.ts",
    before: "return unsureFor(leftMs, cached.keys);",
    after: "return cached.keys;",
    checks: ["packages/lambda/test/aws-keys.rest.test.ts"],
  },
  {
    name: "the daily purge removes ids before their retention ends (Durable Objects)",
    file: "packages/cloudflare/src/dedupe-object.ts",
    before: "delete from event where ends_at <= ?",
    after: "delete from event where ends_at >= ?",
    checks: ["packages/cloudflare/test/dedupe-object.test.ts"],
  },
  {
    name: "an event that is invalid is acknowledged (Cloudflare Queues)",
    file: "packages/cloudflare/src/queue-handler.ts",
    before: "return 0; // only max_retries makes a message a dead letter",
    after: "return undefined;",
    checks: ["packages/cloudflare/test/queue.test.ts"],
  },
  {
    name: "a delivery is acknowledged before its Queue has the message (Cloudflare Queues)",
    file: "packages/cloudflare/src/queue-inbox.ts",
    before: "await Promise.all(messages.map((message) => queue.send",
    after: "void Promise.all(messages.map((message) => queue.send",
    checks: ["packages/cloudflare/test/queue.test.ts"],
  },
  {
    name: "a rotation continues though one of several receivers does not read the key store",
    file: "packages/endpoint/src/rotate/check-receivers.ts",
    before: "if (refused > 0) {",
    after: "if (refused === posts) {",
    checks: ["packages/endpoint/test/rotate/check-receivers.test.ts"],
  },
  {
    name: "a key record whose answer was lost counts as another process's",
    file: "packages/endpoint/src/change/write-record.ts",
    before: "const isWritten = written !== undefined && isDeepStrictEqual(record.change, written.change);",
    after: "const isWritten = false as boolean;",
    checks: ["packages/endpoint/test/rotate/rotate-secret.rest.test.ts"],
  },
  {
    name: "a pass that was taken over continues to write its state",
    file: "packages/endpoint/src/reconcile/claim-pass.ts",
    before:
      "if (stored === undefined || readPassState(name, stored.value).runner?.run !== run) throw lose();",
    after: "if (stored === undefined) throw lose();",
    checks: ["packages/endpoint/test/reconcile/create-reconciler.rest.test.ts"],
  },
  {
    name: "a late 401 throws away the token that another caller has renewed",
    file: "packages/client/src/auth/tokens.ts",
    before: "if (held?.accessToken !== token) return;",
    after: "if (held === undefined) return;",
    checks: ["packages/client/test/auth/tokens.test.ts"],
  },
  {
    name: "a call whose answer is lost frees its place in the rate limit",
    file: "packages/client/src/limit/limiter.ts",
    before: "      givenUp() {\n        inFlight -= 1;\n",
    after: "      givenUp() {\n        inFlight -= 1;\n        void free(place);\n        look();\n",
    checks: ["packages/client/test/limit/limiter.test.ts"],
  },
  {
    name: "a handler starts while its abandoned one runs (BullMQ)",
    file: "packages/queue-bullmq/src/work/bullmq-processor.ts",
    before: "if (limits.isAbandoned(entry)) {",
    after: "if (limits.isAbandoned(entry) && job.attemptsMade < 0) {",
    checks: ["packages/queue-bullmq/test/bullmq-attempts.servers.test.ts"],
  },
  {
    name: "a key file gets its name before its content is on the disk",
    file: "packages/core/src/base/durable-file.ts",
    before: '{ flag: "wx", mode: 0o600, flush: true }',
    after: '{ flag: "wx", mode: 0o600 }',
    checks: [disks],
  },
  {
    name: "the name of a file state is synced only by the write that gives it",
    file: "packages/core/src/store/file-state.ts",
    before: "(isNew || !durablePlaces.has(place))",
    after: "isNew",
    checks: [disks],
  },
  {
    name: "an import ends before its rejects are on the disk",
    file: "packages/import/src/file-journal.ts",
    before: "await rejects?.cutOff();\n    await rejects?.flush();",
    after: "await rejects?.cutOff();",
    checks: [disks],
  },
];
