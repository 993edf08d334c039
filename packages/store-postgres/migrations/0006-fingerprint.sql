-- The CRC-32 of the body of an id that is worked inline. bigint, since the number is unsigned.
alter table esim_webhooks.event add column fingerprint bigint;

insert into esim_webhooks.migration (number) values (6);
