import { go } from "./route.ts";

/** The row that was opened last, to come back to it. */
let opened: string | undefined;
let isComingBack = false;

/** Whether Escape has just led back from what this row opened. */
export function isBackFrom(row: string): boolean {
  return isComingBack && row === opened;
}

/** Keys of every view: j and k move over the rows, which Enter opens as links; / goes to the filter; Escape goes back. */
export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    isComingBack = false;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = event.target as HTMLElement;
    if (target.matches("input:not([type=checkbox]), select") && event.key !== "Escape") return;
    const isKnown =
      event.key === "j"
        ? move(1)
        : event.key === "k"
          ? move(-1)
          : event.key === "/"
            ? search()
            : event.key === "Escape" && leave(target);
    if (isKnown) event.preventDefault();
  });
  document.addEventListener("click", ({ target }) => {
    isComingBack = false;
    const link = target instanceof Element ? target.closest("[data-row]") : null;
    if (link !== null) opened = link.getAttribute("href") ?? undefined;
    for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]"))
      if (!menu.contains(target as Node)) menu.open = false;
  });
}

const rows = () => [...document.querySelectorAll<HTMLElement>("[data-row]")];

function move(by: 1 | -1): boolean {
  const all = rows();
  const current = all.indexOf(document.activeElement as HTMLElement);
  const last = all.findIndex((row) => row.getAttribute("href") === opened);
  const next = current === -1 ? (last === -1 ? all[0] : all[last]) : all[current + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return true;
}

function search(): boolean {
  const field = document.querySelector<HTMLInputElement>("[name=idPrefix]:enabled, [name=subject]:enabled");
  if (field === null) go("#/events");
  else field.focus();
  return true;
}

/** Closes the menu of an element, and gives it the focus. */
export function closeMenu(inside: Element): void {
  const menu = inside.closest<HTMLDetailsElement>("details.menu");
  if (menu === null) return;
  menu.open = false;
  menu.querySelector("summary")?.focus();
}

/** Closes an open menu, else leaves a field, else goes back from an event to where it was opened. */
function leave(target: HTMLElement): boolean {
  const menu = document.querySelector("details.menu[open]");
  if (menu !== null) closeMenu(menu);
  else if (target.matches("input, select")) target.blur();
  else if (location.hash.startsWith("#/event?")) {
    isComingBack = opened !== undefined;
    if (isComingBack) history.back();
    else go("#/events");
  }
  return true;
}
