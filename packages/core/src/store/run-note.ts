/** An import, or a pass of reconcile, that has ended: what an inbox keeps of it for operators. */
export interface RunNote {
  /** Whether it was an import or a pass of reconcile. */
  readonly kind: "import" | "reconcile";
  /** Its name, as in the `replay.run` of the events that it stored. */
  readonly run: string;
  /** The source of its events. */
  readonly source: string;
  /** When it began. */
  readonly startedAt: Date;
  /** When it ended, also by an error. */
  readonly endedAt: Date;
  /** `complete`, `interrupted`, `damaged` or `failed`. */
  readonly outcome: string;
  /** How many records it has read, and what became of them. */
  readonly ledger: Readonly<Record<string, number>>;
}

/** For authors of inboxes: how many notes of each kind are kept, the last ones. */
export const mostRunNotes = 50;

/** For authors of inboxes: a note as JSON text. */
export function encodeRunNote(note: RunNote): string {
  return JSON.stringify(note);
}

/** For authors of inboxes: reads what `encodeRunNote` wrote. */
export function decodeRunNote(text: string): RunNote {
  const note = JSON.parse(text) as RunNote;
  return { ...note, startedAt: new Date(note.startedAt), endedAt: new Date(note.endedAt) };
}
