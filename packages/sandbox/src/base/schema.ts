export const schemaVersion = 1;

/** The tables. Times are ms since the Unix epoch on the service's clock; `…Json` columns hold JSON; booleans are 0 and 1. */
export const schema = `
-- A single row: the service's time when it was last saved, so that a restart does not go back.
create table clock (now integer not null) strict;

create table clients (
  clientReference text primary key, -- also the client_id
  clientSecret text not null,
  name text not null,
  defaultEsimVariant text,
  maxProfiles integer not null
) strict;

create table tokens (
  hash text primary key, -- SHA-256, hexadecimal: a token is a secret
  clientReference text not null references clients on delete cascade,
  expiresAt integer not null
) strict;
create index tokens_by_expiry on tokens (expiresAt);

create table variants (
  clientReference text not null references clients on delete cascade,
  esimVariant text not null,
  name text not null,
  description text not null,
  available integer, -- null: the stock is unknown and unlimited
  primary key (clientReference, esimVariant)
) strict;

create table profiles (
  profileReference text primary key,
  clientReference text not null references clients on delete cascade,
  externalProfileId text,
  unique (clientReference, externalProfileId)
) strict;

create table esims (
  esimReference text primary key,
  profileReference text not null references profiles on delete cascade,
  esimVariant text not null,
  iccid text not null unique,
  eid text, -- of the device that it was downloaded to
  profileState text not null, -- on the device: released, downloaded, installed, enabled, disabled, deleted, expired
  lifecycleStatus text not null, -- on the network: active, suspended, terminated
  activatedAt integer, -- null until the subscription is activated: it can be ported until then
  network text, -- "MCC-MNC" of the last registration
  country text,
  balance integer not null default 0, -- minor units
  currency text not null,
  createdAt integer not null
) strict;
create index esims_by_profile on esims (profileReference);

create table packages (
  packageReference text primary key,
  esimReference text not null references esims on delete cascade,
  planReference text not null,
  status text not null -- active, ended
) strict;
create index packages_by_esim on packages (esimReference);

create table portIns (
  sequence integer primary key,
  portInRequestReference text not null unique,
  esimReference text not null references esims on delete cascade,
  msisdn text not null,
  detailsJson text not null,
  status text not null,
  reasonCode text,
  reasonMessage text,
  scheduledDate text,
  submittedAt integer,
  completedAt integer,
  abandoned integer not null default 0,
  createdAt integer not null,
  updatedAt integer not null
) strict;
create index portIns_by_esim on portIns (esimReference, sequence);

create table numbers (
  assignmentId integer primary key,
  esimReference text not null references esims on delete cascade,
  msisdn text not null,
  countryCode text not null,
  type text not null,
  status text not null, -- active, suspended, released
  isPrimary integer not null,
  customerInfoJson text, -- null of a number that was ported
  createdAt integer not null,
  updatedAt integer not null
) strict;
create index numbers_by_esim on numbers (esimReference);
create unique index numbers_in_use on numbers (msisdn) where status <> 'released';

create table endpoints (
  sequence integer primary key autoincrement, -- never again that of another endpoint
  webhookEndpointReference text not null unique,
  clientReference text not null references clients on delete cascade,
  url text not null,
  eventTypesJson text not null,
  description text,
  active integer not null,
  signingSecret text not null,
  previousSecret text, -- for the fault of a delivery that is signed with it
  createdAt integer not null,
  updatedAt integer not null
) strict;
create index endpoints_by_client on endpoints (clientReference, createdAt); -- and, as in every index, sequence

-- Differences to the catalog of event types that the sandbox starts with.
create table eventTypes (
  sequence integer primary key,
  eventType text not null unique,
  retired integer not null -- 0: added
) strict;

-- The events, as they are sent. Kept for 7 days.
create table events (
  sequence integer primary key,
  eventId text not null unique,
  clientReference text not null references clients on delete cascade,
  eventType text not null,
  body text not null, -- the bytes of every attempt
  createdAt integer not null
) strict;
create index events_by_time on events (createdAt);

-- An event to one endpoint.
create table deliveries (
  sequence integer primary key autoincrement, -- never again that of another delivery: an attempt may be under way
  endpointSequence integer not null references endpoints on delete cascade,
  eventSequence integer not null references events on delete cascade,
  eventId text not null, -- the webhook-id; by the switch idPer, that of the event or one of its own
  faultedBody text, -- what a fault made of the event's body; null: nothing
  status text not null, -- pending, sending, delivered, failed, exhausted
  attemptNumber integer not null default 0,
  httpStatus integer,
  responseBody text,
  dueAt integer, -- of the next attempt; null when there is none
  held integer not null default 0, -- 1 while it waits to be overtaken by a later delivery
  sentAt integer,
  deliveredAt integer,
  createdAt integer not null
) strict;
create index deliveries_by_endpoint on deliveries (endpointSequence, createdAt); -- and, as in every index, sequence
create index deliveries_by_event on deliveries (eventSequence);
create index deliveries_due on deliveries (endpointSequence, dueAt) where dueAt is not null;
create index deliveries_held on deliveries (endpointSequence) where held = 1;

create table idempotencyKeys (
  clientReference text not null references clients on delete cascade,
  idempotencyKey text not null,
  fingerprint text not null, -- SHA-256 of the canonical body
  status integer not null,
  contentType text, -- null: no body
  body text not null,
  createdAt integer not null,
  primary key (clientReference, idempotencyKey)
) strict;
create index idempotencyKeys_by_time on idempotencyKeys (createdAt);
`;
