import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { begin, cli, type Ended, start } from "../cli.ts";
import { type Backend, startBackend } from "./backend.ts";
import { alike, openPage } from "./page.ts";

const page = openPage("docs/runbook.md");
const outcomes = (ended: readonly Ended[]) => ended.map(({ code, stderr }) => ({ code, stderr }));
const ok = { code: 0, stderr: expect.stringMatching(/^(?:API: \S+ \(this machine\)\n)?$/) };
const recovered = { code: 3 };

/** Runs a block of the page. The ledger of each `reconcile` in it must balance. */
async function follow(...given: Parameters<typeof page.follow>): Promise<Ended[]> {
  const ended = await page.follow(...given);
  const [heading, block] = given;
  for (const [index, command] of page.take(heading, block).commands.entries())
    if (/ reconcile(?! --every)/.test(command)) expect(unexplainedIn(ended[index]?.stdout ?? "")).toBe(0);
  return ended;
}

/** The text of an entry says what its first command prints: this has been printed, apart from numbers and names. */
function expectPrinted(heading: string, ...ended: readonly (Ended | undefined)[]): void {
  const entry = page.textOf(heading).replaceAll("\n", " ");
  const samples = Array.from(entry.matchAll(/prints `([^`]+)`/g), ([, sample = ""]) => sample);
  expect(samples.length, heading).toBeGreaterThan(0);
  const [printed = ""] = alike([ended.map((it) => `${it?.stdout}${it?.stderr}`).join(" ")]);
  for (const sample of alike(samples)) expect(printed, heading).toContain(sample);
}

/** How many of the listed deliveries the other lines of a ledger do not show. NaN: there is no ledger. */
function unexplainedIn(stdout: string): number {
  const entry =
    /^(listed|stored|duplicate|coming|out of range|filtered|conflict|invalid|rejected|unsettled) +([\d,]+)/gm;
  const found = [...stdout.matchAll(entry)].map(
    ([, name = "", value = ""]) => [name, Number(value.replaceAll(",", ""))] as const,
  );
  const { listed = Number.NaN, ...others } = Object.fromEntries(found);
  return listed - Object.values(others).reduce((sum, value) => sum + value, 0);
}

/** Leaves a mark, as it is there where it runs beside the receiver. */
async function reconcileBefore({ cwd, env }: Backend): Promise<void> {
  expect(await cli(["reconcile", "--since", "1h"], { cwd, env })).toMatchObject(ok);
}

/** Works the events of the inbox until this is true. */
async function workUntil({ cwd, env }: Backend, isDone: () => boolean | Promise<boolean>): Promise<void> {
  const worker = begin(["work"], { cwd, env });
  await expect.poll(isDone).toBe(true);
  worker.kill("SIGTERM");
  await worker.ended;
}

/** The ids of the events in a dump, each once. */
async function idsIn(dump: AsyncIterable<Uint8Array>): Promise<string[]> {
  const lines = (await text(dump)).trim().split("\n");
  return [...new Set(lines.map((line) => (JSON.parse(line) as { readonly eventId: string }).eventId))];
}

async function onPostgres(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** A database for one test. */
async function newDatabase(): Promise<{ readonly name: string; readonly url: string }> {
  const name = `runbook_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  await onPostgres(`create database ${name}`);
  onTestFinished(() => onPostgres(`drop database if exists ${name} with (force)`));
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

describe("docs/runbook.md: before anything happens", () => {
  const section = "Before anything happens";

  it("recovers what is missing every five minutes, without anybody noticing", async () => {
    const backend = await startBackend();
    await backend.down();
    const ids = await backend.emit(2);
    await backend.sandbox.advance("16h");
    await backend.up();
    const [ended] = await follow(section, 1, backend, /2 events recovered/);
    expect(ended?.code).toBe(0);
    expect(await backend.stored()).toEqual(expect.arrayContaining(ids));
  });

  it("backs the inbox up", async () => {
    const backend = await startBackend();
    expect(outcomes(await follow(section, 2, backend))).toEqual([ok]);
    expect(readdirSync(backend.cwd)).toContainEqual(expect.stringMatching(/^backup-\d{4}-\d\d-\d\d\.db$/));
  });
});

describe("docs/runbook.md: down for a day", () => {
  it("recovers what was given up and what was answered and lost; the rest comes by itself, and nothing is lost", async () => {
    const section = "We were down for a day";
    const backend = await startBackend();
    const { sandbox } = backend;
    await reconcileBefore(backend);
    const before = await backend.emit(2);
    const answered = await backend.emitAcknowledged(1);
    await backend.down();
    const givenUp = await backend.emit(2);
    await sandbox.advance("12h");
    const coming = await backend.emit(2);
    await sandbox.advance("12h");
    await backend.up();

    const [first] = await follow(section, 1, backend);
    expect(first).toMatchObject(recovered);
    expect((await backend.stored()).sort()).toEqual([...before, ...answered, ...givenUp].sort());

    await sandbox.advance("8h");
    expect((await backend.stored()).sort()).toEqual([...before, ...answered, ...givenUp, ...coming].sort());
    expect(outcomes(await follow(section, 2, backend))).toEqual([ok]);
  });
});

describe("docs/runbook.md: the endpoint was inactive", () => {
  it("reports for how long, until support has replayed the events and the report is acknowledged", async () => {
    const section = "The endpoint was inactive";
    const backend = await startBackend();
    const { sandbox, reference } = backend;
    await reconcileBefore(backend);
    const before = await backend.emit(1);
    sandbox.setEndpointActive(reference, false);
    await backend.emit(2);
    expect((await follow(section, 1, backend))[0]?.stdout).toMatch(
      / to now, while the endpoint is inactive$/m,
    );
    sandbox.setEndpointActive(reference, true);
    const [found] = await follow(section, 1, backend);
    expect(found).toMatchObject(recovered);
    expect(found?.stdout).toMatch(
      /^ALARM: .*\n {2}at most from \S+ \S+Z to \S+ \S+Z, while the endpoint was inactive\nAsk support/m,
    );
    expect(await backend.stored()).toEqual(before);

    await sandbox.replay();
    await sandbox.settled();
    expect(await backend.stored()).toHaveLength(3);
    expect((await follow(section, 1, backend))[0]).toMatchObject(recovered);
    expect(outcomes(await follow(section, 2, backend))).toEqual([ok]);
  });
});

describe("docs/runbook.md: down for a week", () => {
  it("recovers the last 7 days; what is older is gone for support too, and comes back from an export made in time", async () => {
    const section = "We were down for a week";
    const backend = await startBackend();
    const { sandbox, env, reference } = backend;
    await reconcileBefore(backend);
    await backend.down();
    const old = await backend.emit(2);
    await sandbox.advance("5d");
    const exporting = { ...backend, env: { ...env, ENDPOINT: reference } };
    expect(outcomes(await follow(section, 1, exporting))).toEqual([ok]);
    const listed = await backend.emit(2);
    await sandbox.advance("3d");
    const coming = await backend.emit(1);
    await backend.up();

    const [first] = await follow(section, 2, backend);
    expect(first).toMatchObject({ code: 3 });
    expect(first?.stdout).toMatch(/no longer listed\.\n.* support cannot replay them/);
    expect((await backend.stored()).sort()).toEqual([...listed].sort());
    expect((await idsIn(sandbox.dump())).sort()).toEqual([...listed, ...coming].sort());
    await expect(sandbox.replay({ ids: old })).rejects.toThrow(/no event \S+ of the last 7 days/);

    await sandbox.advance("8h");
    expect(await follow(section, 3, backend)).toMatchObject([{ code: 0 }]);
    expect((await backend.stored()).sort()).toEqual([...old, ...listed, ...coming].sort());
  });
});

describe("docs/runbook.md: the database is lost", () => {
  const section = "We lost the database";

  it.each(["SQLite", "Postgres"])("recovers the last 7 days into an empty one: %s", async (kind) => {
    const database = kind === "Postgres" ? await newDatabase() : undefined;
    const backend = await startBackend(database && { database: database.url });
    const delivered = await backend.emit(3);
    await backend.sandbox.advance("6d");
    await backend.down();
    const coming = await backend.emit(1);
    if (database === undefined) rmSync(join(backend.cwd, ".esim-webhooks"), { recursive: true });
    else {
      await onPostgres(`drop database ${database.name}`);
      await onPostgres(`create database ${database.name}`);
    }

    const ended = await follow(section, 1, backend);
    expect(ended.map(({ code }) => code)).toEqual([0, 3]);
    expect((await backend.stored()).sort()).toEqual([...delivered].sort());
    await backend.up();
    await backend.sandbox.advance("1h");
    expect((await backend.stored()).sort()).toEqual([...delivered, ...coming].sort());
  });

  it("runs handlers again for every event of the last 7 days", async () => {
    const backend = await startBackend({ handlers: "inline" });
    const ids = await backend.emit(2);
    await backend.sandbox.advance("1d");
    await backend.down();
    rmSync(join(backend.cwd, ".esim-webhooks"), { recursive: true });
    await follow(section, 1, backend);
    expect(backend.handled().sort()).toEqual([...ids, ...ids].sort());
  });

  it("recovers only what came after a backup, which knows how far it had come, also after a process was killed", async () => {
    const backend = await startBackend();
    const { cwd, env } = backend;
    const before = await backend.emit(2);
    await reconcileBefore(backend);
    await cli(["inbox", "backup", "backup-2026-11-20.db"], { cwd });
    const after = await backend.emit(2);
    const withSecret = { cwd, env: { ...env, ESIM_WEBHOOK_SECRET: newSecret() } };
    const killed = start(["serve", "--port", "0"], withSecret);
    const [, url = ""] = await killed.written(/Listening at (\S+)/);
    expect(await cli(["send", "esim.enabled", "--url", url], withSecret)).toMatchObject({ code: 0 });
    await backend.down();
    killed.kill("SIGKILL");
    await killed.ended;
    expect(existsSync(join(cwd, ".esim-webhooks/events.db-wal"))).toBe(true);

    expect(outcomes(await follow("With a backup", 1, backend))).toEqual([ok, ok]);
    expect(await follow("With a backup", 2, backend)).toMatchObject([{ code: 3 }]);
    expect((await backend.stored()).sort()).toEqual([...before, ...after].sort());
  });
});

describe("docs/runbook.md: a rotation went wrong", () => {
  it("finishes a rotation that was killed, and what was held off arrives", async () => {
    const backend = await startBackend({ keyFile: true });
    const { sandbox, cwd, env } = backend;
    await reconcileBefore(backend);
    const call = "POST /management/webhooks/{webhookEndpointReference}/rotate-secret";
    sandbox.faults.add({ kind: "slow_answer", call, bytesPerSecond: 1 }); // it is rotated, and nobody knows the secret
    const killed = start(["rotate"], { cwd, env });
    await killed.written(/Receivers read the key store\./);
    await expect.poll(() => sandbox.faults.list()).toEqual([]);
    killed.kill("SIGKILL");
    await killed.ended;
    const heldOff = await backend.emit(2);
    expect(await backend.stored()).toEqual([]);

    const NODE_OPTIONS = `--import=${import.meta.resolve("./skipping-waits.ts")}`; // it would take two minutes
    const quick = { ...backend, env: { ...env, NODE_OPTIONS } };
    expect(await follow("A rotation went wrong", 1, quick)).toMatchObject([{ code: 0 }]);
    await sandbox.advance("1h");
    expect((await backend.stored()).sort()).toEqual(heldOff.sort());
  });

  it("recovers what receivers without the new secret have refused", async () => {
    const backend = await startBackend();
    await reconcileBefore(backend);
    await backend.down();
    await backend.up(newSecret());
    const refused = await backend.emit(2);
    await backend.sandbox.advance("5h");
    await backend.down();
    await backend.up();
    expect(await follow("A rotation went wrong", 2, backend)).toMatchObject([recovered]);
    expect((await backend.stored()).sort()).toEqual(refused.sort());
  });
});

describe("docs/runbook.md: a handler failed for hours", () => {
  const section = "A handler failed for hours";

  it("recovers what was given up, for handlers that run inline", async () => {
    const backend = await startBackend({ handlers: "inline" });
    const { sandbox } = backend;
    await reconcileBefore(backend);
    backend.failing(true);
    const givenUp = await backend.emit(2);
    expectPrinted(
      "Deliveries are answered 5xx",
      ...(await follow("Deliveries are answered 5xx", 1, backend)),
    );
    await sandbox.advance("16h");
    const coming = await backend.emit(1);
    backend.failing(false);
    expect(await follow(section, 1, backend)).toMatchObject([recovered]);
    expect(backend.handled().sort()).toEqual([...givenUp].sort());
    await sandbox.advance("8h");
    expect(backend.handled().sort()).toEqual([...givenUp, ...coming].sort());
  });
});

describe("docs/runbook.md: events are dead", () => {
  const section = "Events are dead";

  it("retries dead events, for handlers behind an inbox", async () => {
    const backend = await startBackend({ handlers: "worker" });
    backend.failing(true);
    const ids = await backend.emit(2);
    await workUntil(backend, async () => (await backend.stored("dead")).length === ids.length);
    const [errors] = await follow(section, 1, backend);
    expect(errors?.stdout).toMatch(/^ +2 +dead .* esim\.installed\n {2}Error: the handler is broken$/m);
    backend.failing(false);
    const [some] = await follow(section, 2, backend);
    expect(some).toMatchObject({ code: 0, stdout: "Made ready again: 2 dead events.\n" });
    expect(some?.stderr).toMatch(/inbox list --types esim\.installed$/m);
    await workUntil(backend, () => backend.handled().length === ids.length);
    expect(backend.handled().sort()).toEqual([...ids].sort());

    backend.failing(true);
    const more = await backend.emit(1);
    await workUntil(backend, async () => (await backend.stored("dead")).length === more.length);
    backend.failing(false);
    expect(await follow(section, 3, backend)).toMatchObject([
      { code: 0 },
      { code: 0, stdout: "Made ready again: 1 dead event.\n" },
    ]);
    await workUntil(backend, () => backend.handled().length === ids.length + 1);
    expect(backend.handled().sort()).toEqual([...ids, ...more].sort());
    const [none] = await follow(section, 4, backend); // each is handled or dead
    expect(none?.stdout).toBe("Nothing to do: 0 waiting events.\n");
  });

  it("tries ten of ten thousand first", async () => {
    const backend = await startBackend({ handlers: "worker" });
    backend.failing(true);
    await backend.emit(12);
    await workUntil(backend, async () => (await backend.stored("dead")).length === 12);
    const [planned, ten] = await follow("Ten thousand events are dead", 1, backend);
    expect(planned?.code).toBe(0);
    expectPrinted("Ten thousand events are dead", planned);
    expect(ten?.stdout).toBe("Made ready again: 10 dead events.\n");
  });
});

describe("docs/runbook.md: a handler hangs", () => {
  it("shows the event that hangs, pauses its type until the workers run with a time limit, and shows the attempt that ended at the limit", async () => {
    const section = "A handler hangs";
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    backend.hanging(true);
    const [id = ""] = await backend.emit(1);
    const place = { cwd, env: { ...env, ID: id } };
    const hung = start(["work"], place); // a process each: its end ends the handler
    await expect.poll(() => backend.stored("leased")).toEqual([id]);
    const [leased] = await follow(section, 1, place);
    expect(leased?.stdout).toContain(id);
    const [taken] = await follow(section, 2, place);
    expect(taken?.stdout).toMatch(/^taken +\S+ \S+Z/m);
    expect(taken?.stdout).not.toMatch(/timed out/);

    expect(await follow(section, 3, place)).toMatchObject([{ code: 0 }]);
    hung.kill("SIGTERM");
    await hung.ended;
    backend.limit();
    const restarted = start(["work"], place);
    await restarted.written(/Events are paused/);
    expect(await backend.stored("ready")).toEqual([id]);
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
    expect(await inbox.get({ source: "default", id })).toMatchObject({
      state: "ready",
      attempts: 1,
      tries: 0,
    });
    await inbox.close();

    const [resumed] = await follow(section, 4, place);
    expect(resumed?.stdout).toMatch(/^Resumed: esim\.installed \(paused since .*: its handler hangs\)\n$/);
    await expect.poll(() => backend.stored("dead")).toEqual([id]); // at its only attempt
    const [shown] = await follow(section, 5, place);
    expect(shown?.stdout).toMatch(/ timed out +after \S+ +in \S+$/m);
    expect(backend.handled()).toEqual([]);

    backend.hanging(false);
    restarted.kill("SIGTERM");
    await restarted.ended;
    expect(await cli(["inbox", "retry", "--yes"], place)).toMatchObject({ code: 0 });
    await workUntil(backend, () => backend.handled().length === 1);
    expect(backend.handled()).toEqual([id]);
  });
});

describe("docs/runbook.md: events wait", () => {
  const section = "Events wait";

  /** As if the events that wait had been due for an hour, and the worker had last taken one then, also by its next reports. */
  function letAnHourPass({ cwd }: Backend): void {
    const database = new DatabaseSync(join(cwd, ".esim-webhooks/events.db"), { timeout: 5000 });
    database.exec("update esim_webhooks_event set due_at = due_at - 3600000 where state = 'ready'");
    const earlier = "update esim_webhooks_worker set last_take_at = last_take_at - 3600000";
    database.exec(earlier);
    database.exec(
      `create trigger took_earlier after insert on esim_webhooks_worker begin ${earlier} where id = new.id; end`,
    );
    database.close();
  }

  it("shows that no worker runs", async () => {
    const backend = await startBackend({ handlers: "worker" });
    await backend.emit(2);
    letAnHourPass(backend);
    const [doctor, workers, paused] = await follow(section, 1, backend);
    expect(doctor?.stdout).toMatch(/^✘ +waiting +2 events wait; the oldest has been due for 1h 00m\. /m);
    expect(doctor?.stdout).toMatch(
      /^! +workers +No worker has reported in the last 30 s, and events are due\./m,
    );
    expect(workers?.stderr).toMatch(/^No worker has reported to .* in the last 30 s\.$/m);
    expect(paused?.stderr).toBe("Nothing is paused.\n");
  });

  it("shows that all slots of a worker are in use, its last take, and that nothing is paused", async () => {
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    backend.hanging(true);
    await backend.emit(2);
    const hung = begin(["work", "--concurrency", "1"], { cwd, env });
    await expect.poll(async () => (await backend.stored("leased")).length).toBe(1);
    const slots = async () => (await cli(["inbox", "workers"], { cwd, env })).stdout;
    await expect.poll(slots, { timeout: 60_000 }).toMatch(/1 of 1/); // by its second report, after ten seconds
    letAnHourPass(backend);
    const [doctor, workers, paused] = await follow(section, 1, backend);
    expect(doctor?.code).toBe(3);
    expect(doctor?.stdout).toMatch(/^✘ +waiting +2 events wait; the oldest has been due for 1h 00m\. /m);
    expect(doctor?.stdout).toMatch(
      /^! +workers +1 worker is alive; 1 of 1 slot in use; no worker has polled the inbox for a minute/m,
    );
    expect(workers?.stdout).toMatch(/1 of 1/);
    expect(paused).toMatchObject({ code: 0, stdout: "", stderr: "Nothing is paused.\n" });
    hung.kill("SIGTERM");
    await hung.ended;
  });

  it("shows what is paused and what waits, and the worker takes it once the pause is ended", async () => {
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    const reason = "CRM is down";
    expect(await cli(["inbox", "pause", "--reason", reason], { cwd, env })).toMatchObject({ code: 0 });
    const [id = ""] = await backend.emit(1);
    const worker = begin(["work"], { cwd, env });
    await worker.written(/Events are paused/);
    await expect.poll(async () => (await cli(["inbox", "workers"], { cwd, env })).stdout).toMatch(/0 of 20/);
    const [doctor, workers, paused] = await follow(section, 1, backend);
    expect(doctor?.stdout).toMatch(/^✔ ok +paused +all types since .*CRM is down/m);
    expect(doctor?.stdout).toMatch(/^✔ ok +workers +1 worker is alive; 0 of 20 slots in use/m);
    expect(workers?.stdout).toMatch(/0 of 20/);
    expect(paused?.stdout).toMatch(/^all types .*CRM is down$/m);
    const [listed, shown] = await follow(section, 3, { cwd, env: { ...env, ID: id } });
    expect(listed?.stdout).toContain(id);
    expect(shown?.stdout).toMatch(/^state +ready/m);
    expect(backend.handled()).toEqual([]);

    const [resumed] = await follow(section, 2, backend);
    expect(resumed?.stdout).toMatch(/^Resumed: all types /);
    await expect.poll(() => backend.handled()).toEqual([id]);
    worker.kill("SIGTERM");
    await worker.ended;
  });
});

describe("docs/runbook.md: stop one type for two hours", () => {
  it("pauses it without losing events or attempts, and resumes it earlier", async () => {
    const section = "Stop one type for two hours";
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    const [paused, listed] = await follow(section, 1, backend);
    expect(paused).toMatchObject({ code: 0 });
    expect(paused?.stdout).toMatch(
      /^Paused: esim\.installed since .*, until .* \(in (?:2h 00m|1h 59m)\), by \S+@\S+: CRM is down\n$/,
    );
    expect(listed?.stdout).toMatch(/^esim\.installed .*CRM is down$/m);
    const ids = await backend.emit(2);
    const worker = begin(["work"], { cwd, env });
    await worker.written(/Events are paused/);
    expect((await backend.stored("ready")).sort()).toEqual([...ids].sort());
    expect(backend.handled()).toEqual([]);
    const [resumed] = await follow(section, 2, backend);
    expect(resumed?.stdout).toMatch(/^Resumed: esim\.installed /);
    await expect.poll(() => backend.handled().sort()).toEqual([...ids].sort());
    worker.kill("SIGTERM");
    await worker.ended;
  });
});

describe("docs/runbook.md: erase one customer", () => {
  it("erases all events of an eSIM, which no redelivery and no reconcile brings back", async () => {
    const section = "Erase one customer";
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    await reconcileBefore(backend);
    const ids = await backend.emit(2);
    const { esimReference } = sampleData("esim.installed");
    const place = { ...backend, env: { ...env, ESIM: esimReference } };
    const [listed, planned] = await follow(section, 1, place);
    for (const id of ids) expect(listed?.stdout).toContain(id);
    expect(planned?.stdout).toBe("Would erase the personal data of 2 events of this eSIM (2 ready).\n");
    const [erased] = await follow(section, 2, place);
    expect(erased).toMatchObject({ code: 0, stderr: "" });
    expect(erased?.stdout).toMatch(/^Erased: the personal data of 2 events \(2 ready\)\.\nNot reached\./);

    expect(await cli(["reconcile"], { cwd, env })).toMatchObject(ok);
    expect((await backend.stored("done")).sort()).toEqual([...ids].sort());
    const shown = await cli(["inbox", "show", ids[0] ?? "", "--reveal"], { cwd, env });
    expect(shown.stdout).toMatch(/^The body was erased\.$/m);
    expect(shown.stdout).not.toContain(esimReference);
    expect(backend.handled()).toEqual([]);
  });
});

describe("docs/runbook.md: the first command of each alert", () => {
  it("shows that no delivery arrives, and that none is accepted since the receiver has another secret", async () => {
    const backend = await startBackend();
    await reconcileBefore(backend);
    await backend.down();
    await backend.emit(1);
    const [unreachable] = await follow("No delivery arrives", 1, backend);
    expect(unreachable?.stdout).toMatch(/^✘ +delivery .* got no answer\. /m);

    await backend.up(newSecret());
    const refused = await backend.emit(2);
    const [rejected] = await follow("No delivery is accepted", 1, backend);
    expectPrinted("No delivery is accepted", rejected);
    const env = { ...backend.env, ESIM_WEBHOOK_SECRET: newSecret() };
    const [key] = await follow("Deliveries are answered 401", 1, { cwd: backend.cwd, env });
    expect(alike([key?.stdout ?? ""])[0]).toContain(
      alike(["The receiver answered 401 3s ago: it does not have the key that the service signs with"])[0],
    );
    await backend.down();
    await backend.up();
    expect(await follow("Deliveries are answered 401", 2, backend)).toMatchObject([recovered]);
    expect(await backend.stored()).toEqual(expect.arrayContaining(refused));
  });

  it("shows that reconcile does not run, and runs it", async () => {
    const backend = await startBackend();
    await backend.emit(1);
    await reconcileBefore(backend);
    const database = new DatabaseSync(join(backend.cwd, ".esim-webhooks/events.db"), { timeout: 5000 });
    database.exec(
      "update esim_webhooks_run set note = json_set(note, '$.endedAt', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days'))",
    );
    database.close();
    const [doctor, pass] = await follow("Reconcile does not run", 1, backend);
    expectPrinted("Reconcile does not run", doctor);
    expect(pass).toMatchObject(ok);
  });

  it("shows how far the clock is from the service's", async () => {
    const backend = await startBackend();
    const config = `export default { api: { async fetch(url, init) {
      const given = await fetch(url, init);
      const answer = new Response(await given.arrayBuffer(), given); // fetch cancels a body whose response is collected as garbage
      answer.headers.set("date", new Date(Date.now() + 600_000).toUTCString());
      return answer;
    } } };`;
    writeFileSync(join(backend.cwd, "esim-webhooks.config.mjs"), config);
    expectPrinted("The clock is wrong", ...(await follow("The clock is wrong", 1, backend)));
  });

  it("shows what is paused, and by what reason", async () => {
    const backend = await startBackend({ handlers: "worker" });
    expect(await cli(["inbox", "pause", "--reason", "CRM is down"], backend)).toMatchObject({ code: 0 });
    expectPrinted("A type is still paused", ...(await follow("A type is still paused", 1, backend)));
  });

  it("shows that the inbox does not answer", async () => {
    const backend = await startBackend();
    const env = { ...backend.env, DATABASE_URL: "postgres://postgres@127.0.0.1:1/postgres" };
    const [ended] = await follow("The inbox does not answer", 1, { cwd: backend.cwd, env });
    expect(ended?.stderr).toMatch(/store_unavailable.*ECONNREFUSED/s);
  });

  it("shows how much room a disk has", async () => {
    const backend = await startBackend();
    const [, doctor] = await follow("The disk is full", 1, backend);
    expect(doctor?.stdout).toMatch(/^✔ ok +folder .* free/m);
  });

  it("asks a process whether it is ready", () => {
    expect(page.take("A process does not answer Prometheus", 1).commands).toEqual([
      "curl -sS http://127.0.0.1:9464/readyz",
    ]);
  });
});

describe("docs/runbook.md: a process exits while it handles an event", () => {
  const section = "A process exits while it handles an event";

  it("shows the attempts whose lease has ended, and stops the exits by a pause", async () => {
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    backend.hanging(true);
    const [id = ""] = await backend.emit(1);
    const place = { cwd, env: { ...env, ID: id } };
    const killed = start(["work"], place);
    await expect.poll(() => backend.stored("leased")).toEqual([id]);
    killed.kill("SIGKILL");
    await killed.ended;
    const database = new DatabaseSync(join(cwd, ".esim-webhooks/events.db"), { timeout: 5000 });
    database.exec("update esim_webhooks_event set leased_until = 1 where state = 'leased'");
    database.close();
    const next = start(["work"], place);
    await next.written(/handled alone|maxAttempts|dead/);
    const [shown] = await follow(section, 1, place);
    expectPrinted(section, shown);
    expect(shown?.stdout).toMatch(/runbook\.md.*"A process exits while it handles an event"/);
    expect(await follow(section, 2, place)).toMatchObject([{ code: 0 }]);
    next.kill("SIGKILL");
    await next.ended;
  });

  it("shows that a stopping worker still handles its event", async () => {
    const backend = await startBackend({ handlers: "worker" });
    const { cwd, env } = backend;
    const config = join(cwd, "esim-webhooks.config.mjs");
    writeFileSync(config, readFileSync(config, "utf8").replace("shutdownMs: 200", "shutdownMs: 20_000"));
    backend.hanging(true);
    const [id = ""] = await backend.emit(1);
    const worker = start(["work"], { cwd, env });
    await expect.poll(() => backend.stored("leased")).toEqual([id]);
    worker.kill("SIGTERM");
    const place = { cwd, env: { ...env, ID: id } };
    expectPrinted("A worker is stopping", ...(await follow("A worker is stopping", 1, place)));
    expect(worker.child.exitCode).toBeNull();
    worker.kill("SIGKILL");
    await worker.ended;
  });
});

describe("docs/runbook.md: events differ from the catalog", () => {
  it("says whether they do", async () => {
    const backend = await startBackend({ handlers: "worker" });
    const [none] = await follow("Events differ from the catalog", 1, backend);
    expect(none).toMatchObject({ code: 0, stdout: "" });
  });
});

it("has no commands that no test has run", () => {
  expect(page.left()).toEqual([]);
});
