/** The note of an import, or of a pass of reconcile, that has ended. An inbox keeps it for operators. */
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
  /** When the last delivery was sent that got a 401, as far as the pass has read. Absent if none did, and for an import. */
  readonly refusedAt?: Date;
}

/** For authors of inboxes: how many notes of each kind are kept, the last ones. */
export const mostRunNotes = 50;

/** For authors of inboxes: a note as JSON text. */
export function encodeRunNote(note: RunNote): string {
  return JSON.stringify(note);
}

/** For authors of inboxes: reads what `encodeRunNote` wrote. */
export function decodeRunNote(text: string): RunNote {
  const { startedAt, endedAt, refusedAt, ...note } = JSON.parse(text) as RunNote;
  return {
    ...note,
    startedAt: new Date(startedAt),
    endedAt: new Date(endedAt),
    ...(refusedAt && { refusedAt: new Date(refusedAt) }),
  };
}
