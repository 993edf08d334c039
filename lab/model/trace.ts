// Compares the real changes of an engine's rows with the table: a change that no transition explains is a mistake, in the
// engine or in the table. Triggers log each committed change of a row, of every process and program.
import type { DatabaseSync } from "node:sqlite";
import { type Change, type Name, type Pattern, type Row, type Transition, table } from "./state-machine.ts";

/** A row as a history has it. Whether its time has come is not known. */
export interface Snapshot extends Omit<Row, "state" | "ended" | "suspect"> {
  readonly state: Exclude<Row["state"], "absent">;
  readonly fence: string | null;
  readonly attempts: number;
  /** Absent where an engine does not show it, like the next ones. */
  readonly tries?: number;
  /** Absent where an engine does not show it. */
  readonly suspect?: boolean;
  /** Absent where the order of the changes of two rows is not known. */
  readonly lane?: string | null;
}

/** A change of a row. Null: there was none before, or there is none after it. */
export interface RowChange {
  /** Whether its type was paused then. Absent where the history does not show it. */
  readonly isPaused?: boolean;
  readonly source: string;
  readonly id: string;
  readonly before: Snapshot | null;
  readonly after: Snapshot | null;
}

export interface CheckedHistory {
  /** How often each transition was seen. A change that several explain counts for the first of them. */
  readonly seen: ReadonlyMap<Name, number>;
  /** The changes that no transition explains, a sentence each. */
  readonly unknown: readonly string[];
}

/**
 * Replays the changes, in the order in which those of one row were made. A fence that is new must not have been in the history, and a row
 * must be as the change before has left it.
 */
export function checkHistory(history: readonly RowChange[]): CheckedHistory {
  const rows = new Map<string, Snapshot | null>();
  const fences = new Map<string, string>();
  const lanes = new Map<string, string>();
  const seen = new Map<Name, number>();
  const unknown: string[] = [];
  for (const { source, id, before, after, isPaused } of history) {
    const row = JSON.stringify([source, id]);
    const known = rows.get(row) ?? null;
    if (rows.has(row) && !isSame(known, before))
      unknown.push(`${row} was ${show(known)}, and then ${show(before)}`);
    rows.set(row, after);
    const name = isSame(before, after) ? undefined : explain(before, after, isPaused);
    if (name !== undefined) seen.set(name, (seen.get(name) ?? 0) + 1);
    else if (!isSame(before, after)) unknown.push(`${row} went from ${show(before)} to ${show(after)}`);
    noteLane(lanes, row, before, after, unknown);
    const isNewLease =
      after?.state === "leased" && after.fence !== (before?.state === "leased" ? before.fence : undefined);
    if (!isNewLease) continue;
    const owner = fences.get(`${after.fence}`);
    if (owner !== undefined)
      unknown.push(`${row} was leased with the fence ${after.fence}, which ${owner} has had`);
    fences.set(`${after.fence}`, row);
  }
  return { seen, unknown };
}

/** Keeps which row of each lane is leased, and notes a second one. */
function noteLane(
  lanes: Map<string, string>,
  row: string,
  before: Snapshot | null,
  after: Snapshot | null,
  unknown: string[],
): void {
  if (before?.lane && lanes.get(before.lane) === row) lanes.delete(before.lane);
  if (after?.state !== "leased" || !after.lane) return;
  const other = lanes.get(after.lane);
  if (other === undefined) lanes.set(after.lane, row);
  else unknown.push(`${row} was leased while ${other} of the same lane was`);
}

/** The transition that a change is; undefined if there is none. */
export function explain(
  before: Snapshot | null,
  after: Snapshot | null,
  isPaused?: boolean,
): Name | undefined {
  for (const [name, { from, to }] of Object.entries(table) as [Name, Transition][])
    if (isFrom(before, from) && isTo(before, after, to, isPaused)) return name;
  return undefined;
}

const marks = ["body", "suspect", "held", "erased"] as const;

function isFrom(before: Snapshot | null, { state, ...wanted }: Pattern): boolean {
  if (before === null) return state.includes("absent");
  return (
    state.includes(before.state) && marks.every((mark) => (wanted[mark] ?? before[mark]) === before[mark])
  );
}

function isTo(
  before: Snapshot | null,
  after: Snapshot | null,
  { state, fence, attempts, tries, ...changes }: Change,
  isPaused: boolean | undefined,
): boolean {
  if (after === null) return state === "absent";
  if (after.state !== (state === "same" ? before?.state : state)) return false;
  const isMarked = marks.every(
    (mark) =>
      after[mark] === undefined ||
      (changes[mark] === "if paused"
        ? after[mark] === (isPaused ?? after[mark])
        : after[mark] === (changes[mark] ?? before?.[mark] ?? false)),
  );
  const counted = (count = 0, change: Change["tries"]) => (change === "0" ? 0 : count + Number(change ?? 0));
  const isCounted =
    (attempts === "-1?"
      ? [0, -1].some((change) => after.attempts === (before?.attempts ?? 0) + change)
      : after.attempts === counted(before?.attempts, attempts)) &&
    (after.tries === undefined || after.tries === counted(before?.tries, tries));
  const isFenced =
    fence === "void" || (fence === "new" ? after.fence !== before?.fence : after.fence === before?.fence);
  return isMarked && isCounted && isFenced;
}

function isSame(a: Snapshot | null, b: Snapshot | null): boolean {
  return show(a) === show(b);
}

/** In one order of fields. */
function show(row: Snapshot | null): string {
  if (row === null) return "absent";
  const { state, fence, attempts, tries } = row;
  const set = marks.filter((mark) => row[mark]).map((mark) => `, ${mark}`);
  return `${state} (fence ${fence}, attempts ${attempts}, tries ${tries}${set.join("")})`;
}

/** The SQL that has Postgres log each change of the table `event` of a schema into its table `history`. */
export function postgresHistory(schema: string): string {
  const snapshot = (row: string) => `jsonb_build_object(
    'state', ${row}.state, 'fence', ${row}.fence::text, 'attempts', ${row}.attempts, 'tries', ${row}.tries,
    'body', ${row}.body is not null, 'suspect', ${row}.suspect, 'erased', ${row}.erased_at is not null,
    'held', ${row}.held)`;
  return `
    create table "${schema}".history (number bigserial, source text, id text, before jsonb, after jsonb);
    create function "${schema}".note_change() returns trigger language plpgsql as $note$
    begin
      insert into "${schema}".history (source, id, before, after) values (
        coalesce(new.source, old.source), coalesce(new.id, old.id),
        case when tg_op <> 'INSERT' then ${snapshot("old")} end,
        case when tg_op <> 'DELETE' then ${snapshot("new")} end
      );
      return null;
    end
    $note$;
    create trigger note_change after insert or update or delete on "${schema}".event
      for each row execute function "${schema}".note_change();`;
}

/** Reads what the triggers of `postgresHistory` have logged. */
export function postgresHistoryOf(schema: string): string {
  return `select source, id, before, after from "${schema}".history order by number`;
}

/** The same for a SQLite file, into the table `history`. */
export function sqliteHistory(): string {
  const snapshot = (row: string) => `json_object(
    'state', ${row}.state, 'fence', ${row}.fence, 'attempts', ${row}.attempts, 'tries', ${row}.tries, 'lane', ${row}.lane,
    'body', json(iif(${row}.body is null, 'false', 'true')), 'suspect', json(iif(${row}.suspect, 'true', 'false')),
    'erased', json(iif(${row}.erased_at is null, 'false', 'true')), 'held', json(iif(${row}.held, 'true', 'false')))`;
  // not known once it has an end: a resume ends a pause, and lets its events go afterwards
  const paused = (row: string) =>
    `coalesce((select iif(until is null, 1, -1) from esim_webhooks_pause where type = ${row}.type), 0)`;
  const trigger = (operation: string, before: string, after: string, row: string) => `
    create trigger note_${operation} after ${operation} on esim_webhooks_event begin
      insert into history (source, id, before, after, paused)
      values (${row}.source, ${row}.id, ${before}, ${after}, ${paused(row)});
    end;`;
  return `
    create table history (number integer primary key, source text, id text, before text, after text, paused integer);
    ${trigger("insert", "null", snapshot("new"), "new")}
    ${trigger("update", snapshot("old"), snapshot("new"), "new")}
    ${trigger("delete", snapshot("old"), "null", "old")}`;
}

/** Reads what the triggers of `sqliteHistory` have logged. */
export function sqliteHistoryIn(database: DatabaseSync): readonly RowChange[] {
  const rows = database
    .prepare("select source, id, before, after, paused from history order by number")
    .all();
  const snapshot = (text: unknown) => (text === null ? null : (JSON.parse(String(text)) as Snapshot));
  return rows.map(({ source, id, before, after, paused }) => ({
    source: String(source),
    id: String(id),
    before: snapshot(before),
    after: snapshot(after),
    ...(paused !== -1 && { isPaused: paused === 1 }),
  }));
}

/** An entry of the event stream of a BullMQ queue, which Redis writes together with the change that it is about. */
export interface QueueEvent {
  readonly event: string;
  readonly jobId: string;
}

const stateOfQueueEvent: Readonly<Record<string, Row["state"]>> = {
  added: "ready",
  waiting: "ready",
  delayed: "ready",
  stalled: "ready",
  active: "leased",
  completed: "done",
  failed: "dead",
  removed: "absent",
};

/** Compares the events of BullMQ's jobs with the table, which has their states under other names. */
export function checkQueueEvents(events: readonly QueueEvent[]): CheckedHistory {
  const known = new Map<string, Name>();
  for (const [name, { part, from, to }] of Object.entries(table) as [Name, Transition][])
    for (const state of part === "inbox" && name !== "give up" ? from.state : []) {
      const step = `${state} → ${to.state === "same" ? state : to.state}`;
      if (!known.has(step)) known.set(step, name);
    }
  const jobs = new Map<string, string>();
  const seen = new Map<Name, number>();
  const unknown: string[] = [];
  for (const { event, jobId } of events) {
    const after = stateOfQueueEvent[event];
    if (after === undefined) continue;
    const before = jobs.get(jobId) ?? "absent";
    jobs.set(jobId, after);
    if (before === after && after === "ready") continue; // added, then waiting
    const name = known.get(`${before} → ${after}`);
    if (name === undefined || (before === after && after === "leased"))
      unknown.push(`job ${jobId} went from ${before} to ${after}`);
    else seen.set(name, (seen.get(name) ?? 0) + 1);
  }
  return { seen, unknown };
}
