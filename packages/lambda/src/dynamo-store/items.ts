import { createHash } from "node:crypto";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { EventKey } from "@esim-webhooks/core";

export type Item = Record<string, AttributeValue>;

interface Expressions {
  readonly ConditionExpression: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Item;
}

/** Returns expressions with the names and values that they use: DynamoDB refuses unused ones. */
export function expression(
  values: Item,
  ConditionExpression: string,
  UpdateExpression?: string,
): Expressions {
  const used = new Set(`${ConditionExpression} ${UpdateExpression}`.match(/[#:]\w+/g));
  const names = [...used].filter((name) => name.startsWith("#"));
  return {
    ConditionExpression,
    ...(UpdateExpression !== undefined && { UpdateExpression }),
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [name, name.slice(1)])),
    ExpressionAttributeValues: Object.fromEntries(Object.entries(values).filter(([name]) => used.has(name))),
  };
}

const longestKeyBytes = 2048;

/** The length distinguishes "a:b" + "c" from "a" + "b:c". A key that is too long for DynamoDB becomes a digest, which begins with no number. */
export function itemKey({ source, id }: EventKey): { id: AttributeValue.SMember } {
  const text = `${source.length}:${source}:${id}`;
  const isShort = Buffer.byteLength(text) <= longestKeyBytes;
  return { id: { S: isShort ? text : `sha256:${createHash("sha256").update(text).digest("hex")}` } };
}

export function number(value: number): AttributeValue.NMember {
  return { N: String(value) };
}

/** DynamoDB deletes items some time after `ttl`, in s. Until then, `until` says that they have ended. */
export function untilValues(until: number): { ":until": AttributeValue; ":ttl": AttributeValue } {
  return { ":until": number(until), ":ttl": number(Math.ceil(until / 1000)) };
}
