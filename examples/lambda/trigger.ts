// node trigger.ts <file>: calls the handler in the file with the messages of the queue, as the trigger of a function does
import { pathToFileURL } from "node:url";
import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

const { handler } = await import(pathToFileURL(process.argv[2] ?? "worker.ts").href);
const sqs = new SQSClient();
const queue = { QueueUrl: process.env["QUEUE_URL"] };
const most = { MaxNumberOfMessages: 10, WaitTimeSeconds: 20, MessageSystemAttributeNames: ["All" as const] };
console.log(`${process.argv[2]} gets the messages of ${queue.QueueUrl}`);

while (true) {
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ ...queue, ...most }));
  if (Messages.length === 0) continue;
  const records = Messages.map(({ MessageId, Body, Attributes }) => ({
    messageId: MessageId,
    body: Body,
    attributes: Attributes,
    eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:events",
  }));
  const endsAt = Date.now() + 30_000; // the function's timeout
  const context = { getRemainingTimeInMillis: () => endsAt - Date.now() };
  try {
    const { batchItemFailures } = await handler({ Records: records }, context);
    const failed = batchItemFailures.map(({ itemIdentifier }: { itemIdentifier: string }) => itemIdentifier);
    const done = Messages.filter(({ MessageId }) => !failed.includes(MessageId));
    const entries = done.map(({ MessageId, ReceiptHandle }) => ({ Id: MessageId, ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ ...queue, Entries: entries }));
  } catch (error) {
    console.error(error); // the messages come back after the visibility timeout
  }
}
