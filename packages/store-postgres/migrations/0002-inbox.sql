-- The inbox, on the table of the dedupe store: an id that was done inline is done for the inbox.
alter table esim_webhooks.event
  add column type text,
  -- null for an id that is worked inline, and once an event is done
  add column body bytea,
  add column body_hash bytea,
  add column received_at timestamptz,
  add column occurred_at timestamptz,
  add column lane text collate "C",
  add column attempts integer not null default 0,
  add column conflicts integer not null default 0,
  add column error text,
  drop constraint event_state_check,
  add constraint event_state_check check (state in ('ready', 'leased', 'done', 'dead'));

-- ready: when it is due; leased: when the lease ends; done: when the id may be forgotten; dead: never
comment on column esim_webhooks.event.ends_at is 'when the state may be left';

create index event_pending on esim_webhooks.event (state, ends_at)
  where state in ('ready', 'leased') and body is not null;

create index event_dead on esim_webhooks.event (received_at) where state = 'dead';

create index event_conflicts on esim_webhooks.event (conflicts) where conflicts > 0;

-- who is ahead in a lane
create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state in ('ready', 'leased', 'dead');

-- two workers that look at the same moment may both find a lane free; only one of them gets it
create unique index event_lane_leased on esim_webhooks.event (lane)
  where lane is not null and state = 'leased';

-- how far latestOnly has come for each subject
create table esim_webhooks.latest (
  family text collate "C" not null,
  subject text collate "C" not null,
  occurred_at timestamptz not null,
  primary key (family, subject)
) with (fillfactor = 80);

insert into esim_webhooks.migration (number) values (2);
