-- The table of the dedupe store. For another schema, replace every esim_webhooks with its name.
create schema if not exists esim_webhooks;

create table esim_webhooks.migration (
  number integer primary key,
  applied_at timestamptz not null default now()
);

-- fences are never reused, so that a late owner cannot pass for the current one
create sequence esim_webhooks.fence as bigint;

create table esim_webhooks.event (
  source text collate "C" not null,
  id text collate "C" not null,
  state text not null check (state in ('leased', 'done')),
  fence bigint not null default nextval('esim_webhooks.fence'),
  -- leased: when the lease ends; done: when the retention ends
  ends_at timestamptz not null,
  primary key (source, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index event_forgettable on esim_webhooks.event (ends_at) where state = 'done';

insert into esim_webhooks.migration (number) values (1);
