import { longWaitMs } from "@esim-webhooks/core/engine";
import { inOrder, plpgsql } from "./sql-function.ts";

/** The settings to switch off for a search by key: in the statistics almost no row is leased, so the planner would scan all leased rows. */
const byKey = ["enable_bitmapscan", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"];

/**
 * Sets the due time of the next events of these lanes to now if it has passed by more than `longWaitMs`: the age of a due event is to show
 * how long workers have left it, not how long another event was ahead of it. Skips locked events: two calls could wait for each other.
 */
const freeLanes = plpgsql(
  "free_lanes(lanes text[], moment timestamptz) returns void",
  inOrder,
  `
declare
  places tid[];
begin
  with next as materialized (
    select found.place from unnest(lanes) as freed (lane) cross join lateral (
      select ctid as place, due_at, held from esim_webhooks.event
      where event.lane = freed.lane and event.lane is not null and state = 'ready'
      order by event.lane, occurred_at, source, id limit 1
    ) as found
    where not held and due_at < moment - interval '${longWaitMs} milliseconds'
  ), own as materialized (
    select ctid as place from esim_webhooks.event
    where ctid in (select place from next) and state = 'ready' for update skip locked
  )
  select array_agg(place) into places from own;
  if places is not null then
    update esim_webhooks.event set due_at = moment where ctid = any (places);
  end if;
end`,
);

/** The functions that end leases and renew them. `settle` and `renew` return the fences that were no longer held, which are few. */
export const settleFunctions: readonly string[] = [
  `-- The history with one more attempt, which ended at that time. It keeps the last ten.
create function esim_webhooks.with_attempt(history jsonb, attempt jsonb, ended timestamptz) returns jsonb
language sql immutable
as $body$
  select case when jsonb_array_length(history) >= 10 then history - 0 else coalesce(history, '[]') end
    || (attempt || jsonb_build_object('at', floor(extract(epoch from ended) * 1000)))
$body$`,

  freeLanes,

  // Leased → what each settlement changes, for the leases that are still held. A done event that loses its body also loses what has no use
  // any more: its trace and its key, a quarter of the data that would be kept, and the time when it occurred, which orders lanes.
  // If all events are done, as usual, the arrays from `states` on are null, and a faster statement is run.
  // It locks rows in the order of the settlements, so that two calls with the same rows cannot deadlock.
  plpgsql(
    `settle(
  sources text[], ids text[], fences bigint[], states text[], attempt_changes integer[], try_changes integer[], stay_suspect boolean[],
  waiting_times text[], waits double precision[], errors text[], reports jsonb[], moment timestamptz, retention interval, keep_bodies boolean
) returns setof bigint`,
    byKey,
    `
declare
  kept bigint[];
  freed text[];
  paused text[];
begin
  if states is null then
    with ended as (
      update esim_webhooks.event as settled
      set state = 'done', due_at = null, leased_until = null, kept_until = moment + retention, suspect = false, waiting_since = null,
        error = null, settled_at = moment,
        body = case when keep_bodies then settled.body end,
        occurred_at = case when keep_bodies then settled.occurred_at end,
        trace = case when keep_bodies then settled.trace end,
        key = case when keep_bodies then settled.key end
      from unnest(sources, ids, fences) as given (source, id, fence)
      where settled.source = given.source and settled.id = given.id
        and settled.fence = given.fence and settled.state = 'leased'
      returning settled.fence, settled.lane
    )
    select array_agg(ended.fence), array_agg(ended.lane) filter (where ended.lane is not null) into kept, freed from ended;
  else
    paused := esim_webhooks.paused_types(moment);
    with ended as (
      update esim_webhooks.event as settled
      set state = given.state,
        due_at = case given.state when 'ready' then moment + given.wait * interval '1 millisecond' end,
        held = given.state = 'ready' and coalesce(settled.type = any (paused), false),
        leased_until = null,
        kept_until = case when given.state in ('done', 'unhandled') then moment + retention end,
        attempts = settled.attempts + given.attempts,
        tries = settled.tries + given.tries,
        suspect = settled.suspect and given.stays_suspect,
        waiting_since = case given.waiting
          when 'begins' then coalesce(settled.waiting_since, moment)
          when 'stays' then settled.waiting_since end,
        error = given.error,
        settled_at = case when given.state <> 'ready' then moment end,
        history = case when given.report is null then settled.history else
          esim_webhooks.with_attempt(settled.history, given.report, moment) end,
        body = case when given.state = 'done' and not keep_bodies then null else settled.body end,
        occurred_at = case when given.state = 'done' and not keep_bodies then null else settled.occurred_at end,
        trace = case when given.state = 'done' and not keep_bodies then null else settled.trace end,
        key = case when given.state = 'done' and not keep_bodies then null else settled.key end
      from unnest(sources, ids, fences, states, attempt_changes, try_changes, stay_suspect, waiting_times, waits, errors, reports)
        as given (source, id, fence, state, attempts, tries, stays_suspect, waiting, wait, error, report)
      where settled.source = given.source and settled.id = given.id
        and settled.fence = given.fence and settled.state = 'leased'
      returning settled.fence, settled.lane, settled.state
    )
    select array_agg(ended.fence), array_agg(ended.lane) filter (where ended.state <> 'ready' and ended.lane is not null)
    into kept, freed from ended;
  end if;
  if freed is not null then
    perform esim_webhooks.free_lanes(freed, moment);
  end if;
  if cardinality(kept) = cardinality(fences) then
    return; -- usual, and cheaper than the comparison
  end if;
  return query select * from unnest(fences) except select * from unnest(kept);
end`,
  ),

  // leased → leased until another time
  plpgsql(
    "renew(sources text[], ids text[], fences bigint[], until timestamptz) returns setof bigint",
    byKey,
    `
begin
  return query
    with held as (
      update esim_webhooks.event as renewed
      set leased_until = until
      from unnest(sources, ids, fences) as given (source, id, fence)
      where renewed.source = given.source and renewed.id = given.id
        and renewed.fence = given.fence and renewed.state = 'leased'
      returning renewed.fence
    )
    select * from unnest(fences) except select held.fence from held;
end`,
  ),
];
