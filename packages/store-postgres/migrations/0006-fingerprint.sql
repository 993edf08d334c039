-- The CRC-32 of the body that an id was claimed with, where it was worked inline: bigint, since it is unsigned.
alter table esim_webhooks.event add column fingerprint bigint;

insert into esim_webhooks.migration (number) values (6);
