import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Failure } from "../src/contract.ts";
import { failureOf } from "./call.ts";
import { actions } from "./live.ts";
import { Problem } from "./shown.tsx";

export interface Question {
  readonly title: string;
  readonly body: ComponentChildren;
  readonly confirm: string;
  /** Present if the action deletes something. */
  readonly deletes?: true;
  readonly act: (form: FormData, working: Working) => Promise<Said>;
}

/** A running action, whose progress the dialog shows. */
export interface Working {
  /** How far the action is. Once it says so, it can be stopped. */
  readonly progress: Signal<string>;
  readonly isStopped: Signal<boolean>;
}

/** The result of an action. */
export interface Said {
  readonly text: string;
  /** A part of the action was no longer possible. */
  readonly isPartial?: boolean;
  readonly list?: readonly string[];
  readonly link?: { readonly address: string; readonly text: string };
}

const asked = signal<Question | null>(null);
const said = signal<Said | null>(null);

/** Asks before an action, and says afterwards what it did. */
export function ask(question: Question): void {
  said.value = null;
  asked.value = question;
}

document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a") !== null) said.value = null;
});

/** Says what needs no question. */
export function say(last: Said): void {
  said.value = last;
}

/** Says a failure that has no dialog of its own. */
export function sayFailure(error: unknown): void {
  const { message, code } = failureOf(error);
  said.value = { text: `${message} (${code})`, isPartial: true };
}

export function Asked() {
  const question = asked.value;
  return question === null ? null : <Dialog key={question.title} question={question} />;
}

function Dialog({ question }: { readonly question: Question }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isBusy = useSignal(false);
  const failure = useSignal<Failure | null>(null);
  const progress = useSignal("");
  const isStopped = useSignal(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => focusAgain(before);
  }, []);

  async function confirm(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    isStopped.value = false;
    failure.value = null;
    try {
      said.value = await question.act(new FormData(event.target as HTMLFormElement), { progress, isStopped });
      if (asked.peek() === question) asked.value = null;
    } catch (error) {
      failure.value = failureOf(error);
      isBusy.value = false;
      if (asked.peek() !== question) sayFailure(error); // it was closed meanwhile
    }
    actions.value += 1;
  }

  return (
    <dialog
      ref={dialog}
      aria-labelledby="asked"
      onClose={() => {
        isStopped.value = true;
        if (asked.peek() === question) asked.value = null;
      }}
    >
      <form onSubmit={confirm}>
        <h2 id="asked" class="dialog-title">
          {question.title}
        </h2>
        <div class="dialog-body">{question.body}</div>
        {failure.value !== null && <Problem failure={failure.value} />}
        <p role="status">{progress}</p>
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            {isBusy.value && progress.value !== "" ? "Stop" : "Cancel"}
          </button>
          <button
            type="submit"
            class={`button ${question.deletes ? "danger" : "primary"}`}
            aria-disabled={isBusy.value}
          >
            {isBusy.value ? "Working…" : question.confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Focuses what had the focus before, or the heading if that is gone or can no longer be used. */
function focusAgain(before: Element | null): void {
  if (before instanceof HTMLElement && before !== document.body) before.focus();
  if (document.activeElement === null || document.activeElement === document.body)
    document.getElementById("title")?.focus();
}

const shownMs = 6000;

/** The result of the last action. It disappears after some seconds, unless the pointer or the focus is on it, a part was not done, or it has a link. */
export function SaidLast() {
  const last = said.value;
  const isHovered = useSignal(false);
  const isFocused = useSignal(false);
  const staysUp =
    last === null || last.isPartial === true || last.link !== undefined || isHovered.value || isFocused.value;
  useEffect(() => {
    if (last !== null) return;
    isHovered.value = false; // what is removed under the pointer, or with the focus, may send no event
    isFocused.value = false;
  }, [last]);
  useEffect(() => {
    if (staysUp) return;
    const timer = setTimeout(() => {
      said.value = null;
    }, shownMs);
    return () => clearTimeout(timer);
  }, [last, staysUp]);
  return (
    <div
      role="status"
      class="said-place"
      onPointerEnter={() => {
        isHovered.value = true;
      }}
      onPointerLeave={() => {
        isHovered.value = false;
      }}
      onFocusIn={() => {
        isFocused.value = true;
      }}
      onFocusOut={() => {
        isFocused.value = false;
      }}
    >
      {last !== null && (
        <div class={last.isPartial ? "said partial" : "said"}>
          <span>{last.text}</span>
          {last.list !== undefined && last.list.length > 0 && (
            <ul>
              {last.list.map((each) => (
                <li key={each}>{each}</li>
              ))}
            </ul>
          )}
          {last.link !== undefined && <a href={last.link.address}>{last.link.text}</a>}
          <button
            type="button"
            class="button small"
            onClick={() => {
              said.value = null;
              document.getElementById("title")?.focus();
            }}
          >
            Dismiss
          </button>
        </div>
      )}
    </div>
  );
}
