/** What is used of a message of SQS. */
export interface SqsRecord {
  readonly messageId: string;
  readonly body: string;
  readonly attributes: {
    readonly ApproximateReceiveCount: string;
    readonly MessageGroupId?: string | undefined;
  };
  readonly eventSourceARN: string;
}

/** A batch of messages of SQS. */
export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

/** The messages that SQS keeps, and delivers again. */
export interface SqsBatchResult {
  batchItemFailures: { itemIdentifier: string }[];
}

/** The messages that wait for each other: those of a group of a FIFO queue. */
export function groupsOf(records: readonly SqsRecord[]): SqsRecord[][] {
  const groups = Map.groupBy(records, ({ messageId, attributes, eventSourceARN }) =>
    eventSourceARN.endsWith(".fifo") ? attributes.MessageGroupId : messageId,
  );
  return [...groups.values()];
}
