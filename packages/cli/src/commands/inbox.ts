import { command, group, help } from "../flags/command.ts";
import {
  backupFlags,
  copyFlags,
  deadFlags,
  eraseFlags,
  errorsFlags,
  giveUpFlags,
  inboxFlags,
  listFlags,
  pauseFlags,
  purgeFlags,
  resumeFlags,
  retryFlags,
  showFlags,
  statsFlags,
} from "../inbox/flags.ts";

const stats = command({
  load: async () => (await import("../inbox/stats.ts")).stats,
  flags: statsFlags,
  docs: help(
    "Say what waits in the inbox",
    "Shows how many events wait, are unhandled or dead, how long the oldest due event has waited, and\nwhat is paused. It takes the same time with any number of events: each count stops at a limit.\nWith --exact, it counts all events, by state and type.",
    [
      "esim-webhooks inbox stats",
      "esim-webhooks inbox stats --exact",
      "esim-webhooks inbox stats --json | jq .counts.dead",
    ],
  ),
});

const pause = command({
  load: async () => (await import("../inbox/pauses.ts")).pause,
  flags: pauseFlags,
  docs: help(
    "Stop processing some events, or all",
    "Stops workers from taking these types (default: all). It applies from their next poll. Receivers\nstore events as before, and no attempt is counted. Pausing a type again replaces its pause.",
    [
      "esim-webhooks inbox pause --types esim.balance.updated --for 2h --reason 'CRM is down'",
      "esim-webhooks inbox pause --reason 'database maintenance' --until 2026-11-20T14:00:00Z",
    ],
  ),
});

const resume = command({
  load: async () => (await import("../inbox/pauses.ts")).resume,
  flags: resumeFlags,
  docs: help("End pauses", "Ends the pauses of these types, or all pauses, and says which they were.", [
    "esim-webhooks inbox resume",
    "esim-webhooks inbox resume --types esim.balance.updated",
  ]),
});

const paused = command({
  load: async () => (await import("../inbox/pauses.ts")).paused,
  flags: inboxFlags,
  docs: help("List what is paused", "Lists what is paused: since when, until when, by whom and why.", [
    "esim-webhooks inbox paused",
    "esim-webhooks inbox paused --json | jq -r '.[].type'",
  ]),
});

const erase = command({
  load: async () => (await import("../inbox/erase.ts")).erase,
  flags: eraseFlags,
  docs: help(
    "Erase the personal data of one eSIM",
    "Overwrites the personal data of all events of one eSIM, in any state: bodies, errors, lanes.\nTheir ids and types stay, so that no redelivery or import brings the data back. Events that waited are\nnot processed. Says what it cannot reach. Asks first on a terminal; elsewhere it needs --yes.",
    [
      "esim-webhooks inbox erase --esim 730155284096617302 --dry-run",
      "esim-webhooks inbox erase --esim 730155284096617302",
    ],
  ),
});

const workers = command({
  load: async () => (await import("../inbox/workers.ts")).workers,
  flags: inboxFlags,
  docs: help(
    "List the workers that share the inbox",
    "Lists the workers that have reported in the last 30 s: their host and process, version, places in use\nand last take.",
    ["esim-webhooks inbox workers", "esim-webhooks inbox workers --json | jq length"],
  ),
});

const list = command({
  load: async () => (await import("../inbox/list.ts")).list,
  flags: listFlags,
  docs: help("List events", "Lists events, newest first. --json prints one event per line, without bodies.", [
    "esim-webhooks inbox list --status dead --since 2d",
    "esim-webhooks inbox list --types 'esim.lifecycle.*' --limit 10",
    "esim-webhooks inbox list --status dead --all --json | jq -r .id",
  ]),
});

const errors = command({
  load: async () => (await import("../inbox/errors.ts")).errors,
  flags: errorsFlags,
  docs: help(
    "Group dead events by their error",
    "Shows why events are dead, the most frequent error first: how many events, when the oldest and\nthe newest were received, one id, and the types. Errors that differ only in ids and numbers are\none; # stands for these.",
    [
      "esim-webhooks inbox errors",
      "esim-webhooks inbox errors --since yesterday --types 'esim.lifecycle.*'",
      "esim-webhooks inbox errors --json | jq -r .exampleId",
    ],
  ),
});

const show = command({
  load: async () => (await import("../inbox/show.ts")).show,
  flags: showFlags,
  args: [
    {
      placeholder: "id",
      brief: "The event's id, which is its webhook-id; its beginning is enough if no other id begins so",
    },
  ],
  docs: help(
    "Show an event",
    "Shows everything that the inbox knows about an event, and its body. Personal data is\nmasked. Ends with 3 when there is no such event.",
    [
      "esim-webhooks inbox show msg_JX6U",
      "esim-webhooks inbox show msg_JX6U --reveal",
      "esim-webhooks inbox show msg_JX6U --reveal --json | jq -r .bodyText",
    ],
  ),
});

const retry = command({
  load: async () => (await import("../inbox/change.ts")).retry,
  flags: retryFlags,
  docs: help(
    "Retry dead or unhandled events, or run waiting ones now",
    "Makes dead or unhandled events ready again, or those that are due later due now, oldest first, and\ncounts their tries anew. Pauses and the order of lanes stay. Asks first on a terminal; elsewhere it needs --yes.",
    [
      "esim-webhooks inbox retry --status dead --since 2026-11-20 --dry-run",
      "esim-webhooks inbox retry --types esim.faulted --limit 100",
      "esim-webhooks inbox retry --since yesterday --error 'order refused'",
      "esim-webhooks inbox retry --status unhandled --dry-run",
      "esim-webhooks inbox retry --status waiting --error 'CRM is down'",
      "esim-webhooks inbox retry --id msg_JX6U --yes",
    ],
  ),
});

const giveUp = command({
  load: async () => (await import("../inbox/change.ts")).giveUp,
  flags: giveUpFlags,
  docs: help(
    "End events that wait as dead",
    "Ends ready events, due or not, as dead with a reason. Those that a worker handles are left, and\ncounted. Asks first on a terminal; elsewhere it needs --yes.",
    [
      "esim-webhooks inbox give-up --esim 730155284096617302 --reason 'the eSIM is gone' --dry-run",
      "esim-webhooks inbox give-up --error 'order refused' --reason 'refunded by hand'",
    ],
  ),
});

const discard = command({
  load: async () => (await import("../inbox/change.ts")).discard,
  flags: deadFlags,
  docs: help(
    "Delete dead events",
    "Permanently deletes dead events: a later redelivery counts as a new event.\nAsks first on a terminal; elsewhere it needs --yes.",
    ["esim-webhooks inbox discard --until 30d --dry-run", "esim-webhooks inbox discard --id msg_JX6U"],
  ),
});

const purge = command({
  load: async () => (await import("../inbox/change.ts")).purge,
  flags: purgeFlags,
  docs: help(
    "Delete events past their retention",
    "Deletes done and unhandled events whose retention has ended. Workers also do\nthis by themselves. Asks first on a terminal; elsewhere it needs --yes.",
    ["esim-webhooks inbox purge --dry-run", "esim-webhooks inbox purge --limit 100000 --yes"],
  ),
});

const backup = command({
  load: async () => (await import("../inbox/backup.ts")).backup,
  flags: backupFlags,
  args: [{ placeholder: "file", brief: "A new file" }],
  docs: help(
    "Back up an embedded inbox",
    "Copies the SQLite file of an embedded inbox, whole, to a new file, also while serve\nand work use it. Overwrites no file.",
    [
      "esim-webhooks inbox backup events-2026-11-20.db",
      "esim-webhooks inbox backup /backup/events.db --from data/events.db",
    ],
  ),
});

const copy = command({
  load: async () => (await import("../inbox/copy.ts")).copy,
  flags: copyFlags,
  docs: help(
    "Copy an embedded inbox to Postgres",
    [
      "Copies the events of an embedded inbox and its handled ids to Postgres, with their",
      "states. Stop serve and work first. The same command continues a copy that was interrupted,",
      "and updates one after the embedded inbox was used again. Ends with 3 when events differ",
      "because Postgres was used as well. The embedded inbox stays as it is.",
    ].join("\n"),
    [
      "DATABASE_URL=postgres://… esim-webhooks inbox copy",
      "esim-webhooks inbox copy --to postgres://me@db.example.com/webhooks --from data/events.db",
    ],
  ),
});

export const inbox = group({
  routes: {
    stats,
    workers,
    list,
    errors,
    show,
    retry,
    "give-up": giveUp,
    discard,
    pause,
    resume,
    paused,
    erase,
    purge,
    backup,
    copy,
  },
  docs: help("Inspect and repair the inbox", "Commands for operators of an inbox.", [
    "esim-webhooks inbox stats",
    "esim-webhooks inbox errors",
    "esim-webhooks inbox retry --status dead --since 2h --dry-run",
  ]),
});
