import { inOrder, plpgsql } from "./sql-function.ts";

const inDueOrder = (where: string) =>
  `select due_at from esim_webhooks.event
    where state = 'ready' and not held and ${where} and due_at > since
    order by due_at offset most limit 1`;

const ofPausedTypes = (where: string) =>
  `select * from (
      select ctid as place from esim_webhooks.event
      where state = 'ready' and not held and ${where} and due_at > since and due_at <= upto and type = any (paused)
      order by due_at
      for update skip locked
    ) as found`;

const [outOfLanes, inLanes] = ["lane is null", "lane is not null"] as const;

/** The functions that hold the events of paused types, and let them go. */
export const pauseFunctions: readonly string[] = [
  // The types that are paused at that moment; '*' is all types. Null: none. In PL/pgSQL, which keeps the plan.
  plpgsql(
    "paused_types(moment timestamptz) returns text[] stable",
    [],
    `
begin
  return (select array_agg(type) from esim_webhooks.pause where until is null or until > moment);
end`,
  ),

  // Holds the events of paused types among the next ready ones, due or not, whose due time is after `since`: about `most` without a lane, and
  // as many in lanes. Returns where to continue, or null at the end. It skips locked events: takes do not take those either.
  plpgsql(
    "hold(since timestamptz, moment timestamptz, most integer) returns timestamptz",
    inOrder,
    `
declare
  paused constant text[] := esim_webhooks.paused_types(moment);
  stop constant timestamptz := least((
    ${inDueOrder(outOfLanes)}
  ), (
    ${inDueOrder(inLanes)}
  ));
  upto constant timestamptz := coalesce(stop, 'infinity');
  places tid[];
begin
  with found as materialized (
    ${ofPausedTypes(outOfLanes)}
    union all
    ${ofPausedTypes(inLanes)}
  )
  select array_agg(place) into places from found;
  update esim_webhooks.event set held = true where ctid = any (places);
  return stop;
end`,
  ),

  // Lets go at most `most` held events whose type is no longer paused: the pause has ended, or was resumed, also by a process that then died,
  // or while the events were stored. Those that were due become due now, about in the order in which they were due. Returns how many it has
  // let go. Deletes the ended pauses of types.
  plpgsql(
    "let_go(moment timestamptz, most integer) returns integer",
    inOrder,
    `
declare
  paused text[];
  free text[];
  places tid[];
begin
  delete from esim_webhooks.pause where type in (
    select type from esim_webhooks.pause where until <= moment and type <> '*' for update skip locked
  );
  if not exists (select from esim_webhooks.event where held) then
    return 0;
  end if;
  paused := esim_webhooks.paused_types(moment);
  with recursive known as (
    (select type from esim_webhooks.event where held order by type limit 1)
    union all
    select (select type from esim_webhooks.event as next where held and next.type > known.type order by type limit 1)
    from known where type is not null
  )
  select array_agg(type) into free from known where paused is null or type <> all (paused);
  with found as materialized (
    select ctid as place from esim_webhooks.event where held and type = any (free) limit most for update skip locked
  )
  select array_agg(place) into places from found;
  update esim_webhooks.event
  set held = false, due_at = case when due_at < moment then moment - (moment - due_at) / 10000 else due_at end
  where ctid = any (places);
  return coalesce(cardinality(places), 0);
end`,
  ),
];
