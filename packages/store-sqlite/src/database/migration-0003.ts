/** As for the first migration. */
export const id = "09e56482eca88370";

export const oldest = 1;

export const text: string = `\
-- What operators look for: the latest events, and those of one eSIM.

create index esim_webhooks_event_received on esim_webhooks_event (received_at, id, source);

create index esim_webhooks_event_subject on esim_webhooks_event (subject, received_at)
  where subject is not null;
`;
