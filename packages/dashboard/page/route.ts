import { computed, signal } from "@preact/signals";
import type { Filter } from "../src/contract.ts";
import type { EventName } from "../src/views.ts";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export interface Route {
  readonly view: string;
  readonly query: URLSearchParams;
}

/** The view and the filters that the address names: `#/events?state=dead` is the view `events`. */
export const route = computed<Route>(() => {
  const [view = "", query = ""] = hash.value.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: view || "now", query: new URLSearchParams(query) };
});

export function go(address: string): void {
  location.hash = address;
}

function address(view: string, query: URLSearchParams): string {
  const text = query.toString();
  return `#/${view}${text && `?${text}`}`;
}

const texts = ["source", "subject", "idPrefix", "error", "cause", "since", "until"] as const;
export const states = ["ready", "leased", "done", "unhandled", "dead"] as const;

export function filterOf(query: URLSearchParams): Filter {
  const state = states.find((each) => each === query.get("state"));
  const types = query.getAll("type").filter((type) => type !== "");
  return {
    ...(state !== undefined && { state }),
    ...(types.length > 0 && { types }),
    ...Object.fromEntries(
      texts.flatMap((name) => (isUsable(name, query.get(name)) ? [[name, query.get(name)]] : [])),
    ),
  };
}

/** Whether a text of an address is one to filter by: it may have been typed. */
function isUsable(name: (typeof texts)[number], text: string | null): boolean {
  return Boolean(text) && !((name === "since" || name === "until") && Number.isNaN(Date.parse(text ?? "")));
}

/** The address of a list. A cursor is where a page of it starts. */
export function eventsAt(filter: Filter, cursor?: string): string {
  const query = new URLSearchParams();
  if (filter.state !== undefined) query.set("state", filter.state);
  for (const type of filter.types ?? []) query.append("type", type);
  for (const name of texts) if (filter[name] !== undefined) query.set(name, filter[name]);
  if (cursor !== undefined) query.set("cursor", cursor);
  return address("events", query);
}

export function eventAt({ source, id }: EventName): string {
  return address("event", new URLSearchParams({ source, id }));
}

export function esimAt(subject: string, cursor?: string): string {
  return address("esim", new URLSearchParams({ subject, ...(cursor !== undefined && { cursor }) }));
}
