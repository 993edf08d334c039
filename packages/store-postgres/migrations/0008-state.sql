-- Small state: one row per name. The value is JSON as text: jsonb refuses NUL and rewrites numbers.
create table esim_webhooks.state (
  name text collate "C" primary key,
  -- from the sequence of the fences, so that no version is reused after a row is deleted and written again
  version bigint not null default nextval('esim_webhooks.fence'),
  value text not null
) with (fillfactor = 50);

insert into esim_webhooks.migration (number) values (8);
