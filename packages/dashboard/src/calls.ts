import { type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import { countSubject, packageVersion } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { discard, erase, giveUp, pause, progress, resume, retry, reveal } from "./actions.ts";
import { continues, mostChanged } from "./change.ts";
import type { CallName, Calls, Filter, Session } from "./contract.ts";
import { endpoints } from "./endpoints.ts";
import { count, event, list, mostCounted } from "./events.ts";
import { refused } from "./failure.ts";
import { checkFilter, filterShape, missingFilters, stateShape } from "./filter.ts";
import { gauges, now } from "./now.ts";
import { runView } from "./rows.ts";
import type { Settings, Visitor } from "./settings.ts";
import { typeCounts, types } from "./types.ts";

/** A call of the page: who may make it, what it takes and what it does. */
interface Call<Name extends CallName> {
  readonly role: Visitor["role"];
  readonly shape: OptionsShape<Calls[Name]["in"]>;
  run(settings: Settings, input: Calls[Name]["in"], visitor: Visitor): Promise<Calls[Name]["out"]>;
}

const text = z.string().check(z.minLength(1), z.maxLength(2000));
const eventShape = { source: text, id: text };
const changeShape = {
  filter: filterShape,
  most: z.int().check(z.gte(1), z.lte(mostChanged)),
  cursor: z.optional(z.string()),
};
const type = z.nullable(z.string().check(z.minLength(1), z.maxLength(200)));
const reason = z.string().check(z.trim(), z.minLength(1), z.maxLength(500));
const subject = z.string().check(z.minLength(1), z.maxLength(200));
const longestPauseMs = 366 * 86_400_000;

/** Returns a call that looks for events, if the visitor's role has the filters. */
function forRole<In extends { readonly filter: Filter }, Out>(
  look: (settings: Settings, input: In) => Promise<Out>,
): (settings: Settings, input: In, visitor: Visitor) => Promise<Out> {
  return async (settings, input, { role }) => {
    checkFilter(input.filter, role);
    return look(settings, input);
  };
}

const calls: { readonly [Name in CallName]: Call<Name> } = {
  session: { role: "viewer", shape: {}, run: async (settings, _, visitor) => session(settings, visitor) },
  gauges: { role: "viewer", shape: {}, run: gauges },
  now: { role: "viewer", shape: {}, run: now },
  list: {
    role: "viewer",
    shape: { filter: filterShape, cursor: z.optional(z.string()) },
    run: forRole(list),
  },
  count: { role: "viewer", shape: { filter: filterShape }, run: forRole(count) },
  event: { role: "viewer", shape: eventShape, run: event },
  types: { role: "viewer", shape: {}, run: types },
  typeCounts: {
    role: "viewer",
    shape: { state: stateShape, cursor: z.optional(z.string()) },
    run: typeCounts,
  },
  runs: { role: "viewer", shape: {}, run: async ({ inbox }) => (await inbox.runs()).map(runView) },
  endpoints: { role: "viewer", shape: { refresh: z.optional(z.literal(true)) }, run: endpoints },
  progress: {
    role: "viewer",
    shape: { source: text, ids: z.array(text).check(z.minLength(1), z.maxLength(500)) },
    run: progress,
  },
  reveal: {
    role: "operator",
    shape: eventShape,
    run: (settings, input, { name }) => reveal(settings, input, name),
  },
  retry: {
    role: "operator",
    shape: changeShape,
    run: (settings, input, { name }) => retry(settings, input, name),
  },
  discard: {
    role: "operator",
    shape: changeShape,
    run: (settings, input, { name }) => discard(settings, input, name),
  },
  giveUp: {
    role: "operator",
    shape: { ...changeShape, reason },
    run: (settings, input, { name }) => giveUp(settings, input, name),
  },
  pause: {
    role: "operator",
    shape: {
      type,
      reason,
      forMs: z.optional(z.int().check(z.gte(1), z.lte(longestPauseMs))),
      replaces: z.optional(text),
    },
    run: (settings, input, { name }) => pause(settings, input, name),
  },
  resume: {
    role: "operator",
    shape: { type },
    run: (settings, input, { name }) => resume(settings, input, name),
  },
  erasable: {
    role: "operator",
    shape: { subject },
    run: ({ inbox }, input) => countSubject(inbox, input.subject, mostCounted + 1),
  },
  erase: {
    role: "operator",
    shape: { subject },
    run: (settings, input, { name }) => erase(settings, input, name),
  },
};

export function isCall(name: string): name is CallName {
  return Object.hasOwn(calls, name);
}

/** Answers a call. Throws `unknown_call`, `not_an_operator`, `invalid_option`, and what the call throws. */
export async function callOf(
  settings: Settings,
  visitor: Visitor,
  name: string,
  input: unknown,
): Promise<unknown> {
  if (!isCall(name)) {
    throw refused(
      "unknown_call",
      "The server does not know this call.",
      "Reload the page: it may be from another version.",
    );
  }
  return run(calls[name] as Call<CallName>, settings, visitor, name, input);
}

async function run<Name extends CallName>(
  call: Call<Name>,
  settings: Settings,
  visitor: Visitor,
  name: string,
  input: unknown,
): Promise<Calls[Name]["out"]> {
  if (call.role === "operator" && visitor.role !== "operator") {
    throw refused(
      "not_an_operator",
      "This is for operators, and you are a viewer.",
      "Ask for the role operator, which the dashboard's authorize function gives.",
    );
  }
  const parsed = parseOptions(name, call.shape, input, "Correct the value, or reload the page.");
  return call.run(settings, parsed, visitor);
}

function session({ inbox, title, color, catalog, client }: Settings, { name, role }: Visitor): Session {
  return {
    name,
    role,
    title: title ?? null,
    color: color ?? null,
    types: catalog.types,
    missingFilters: missingFilters(inbox, role),
    pausesOnlyAll:
      inbox.capabilities.pauses === "all"
        ? "The engine of this inbox can pause only all types, or none."
        : null,
    givesUp: inbox.capabilities.givesUp !== false,
    continues: continues(inbox),
    hasEndpoints: client !== undefined,
    version: packageVersion,
  };
}
