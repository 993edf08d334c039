/** The fields of a message of SQS that are used. */
export interface SqsRecord {
  /** Identifies the message, not the event. */
  readonly messageId: string;
  /** The JSON that the SQS inbox sent. */
  readonly body: string;
  /** The fields that SQS adds. */
  readonly attributes: {
    /** How many times the message was delivered, from 1: the attempt. */
    readonly ApproximateReceiveCount: string;
    /** In a FIFO queue, the messages of a group are in order: a group is a lane, or a single event without a lane. */
    readonly MessageGroupId?: string | undefined;
  };
  /** Names the queue that it comes from. */
  readonly eventSourceARN: string;
}

/** A batch of messages of SQS. */
export interface SqsEvent {
  /** The messages. Those of a group of a FIFO queue are in its order. */
  readonly Records: readonly SqsRecord[];
}

/** The messages that SQS keeps, and delivers again. */
export interface SqsBatchResult {
  /** The messages that are not done, by their `messageId`. All others are deleted. */
  batchItemFailures: { itemIdentifier: string }[];
}

/** Groups the messages that wait for each other: those of a group of a FIFO queue. */
export function groupsOf(records: readonly SqsRecord[]): SqsRecord[][] {
  const groups = Map.groupBy(records, ({ messageId, attributes, eventSourceARN }) =>
    eventSourceARN.endsWith(".fifo") ? attributes.MessageGroupId : messageId,
  );
  return [...groups.values()];
}
