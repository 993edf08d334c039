import { type DatabaseConnection, Kysely, type KyselyProps, type QueryResult } from "kysely";

/** How `pg` reads the values of a query. */
interface Types {
  getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown;
}

const json = (text: string): unknown => JSON.parse(text);

/** The parsers of the types that our statements select, by oid. Values of other types stay text. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"], // bool
  [17, (text) => Buffer.from(text.slice(2), "hex")], // bytea
  [21, Number], // int2
  [23, Number], // int4
  [700, Number], // float4
  [701, Number], // float8
  [114, json],
  [3802, json], // jsonb
  [1184, timestamp],
]);

const identity = (value: string): unknown => value;

const types: Types = { getTypeParser: (oid) => parsers.get(oid) ?? identity };

/** Reads a `timestamptz` in the style ISO, whose offset can have minutes and seconds. */
function timestamp(text: string): Date {
  const [, date, time, sign, hours, minutes = 0, seconds = 0] =
    /^(\S+) ([\d:.]+)([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/.exec(text) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return new Date(Date.parse(`${date}T${time}Z`) - (sign === "-" ? -offset : offset) * 1000);
}

/**
 * The text of a query whose values `pg` reads with our own parsers: an application may have changed the parsers of the process
 * (`pg.types.setTypeParser`) or of its pool. All other code, such as kysely's `log`, can use it as a string.
 */
export function ownTyped(text: string): string {
  return new TypedText(text) as unknown as string;
}

/** It is no `String`: `pg` copies each property of a query, and a `String` has one for each character. */
class TypedText {
  readonly text: string;
  readonly types: Types = types;

  constructor(text: string) {
    this.text = text;
  }

  get length(): number {
    return this.text.length;
  }

  toString(): string {
    return this.text;
  }

  valueOf(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}
Object.setPrototypeOf(TypedText.prototype, String.prototype);

/** The same database for our own queries: their values are read by our own parsers, if its driver is `pg`. */
export function withOwnTypes<Database>(db: Kysely<Database>): Kysely<unknown> {
  const executor = db.getExecutor();
  const typed = executor.withConnectionProvider({
    provideConnection: (consumer, options) =>
      executor.provideConnection((connection) => consumer(typedConnection(connection)), options),
  });
  const props = { config: {}, driver: {}, dialect: {}, executor: typed };
  return new Kysely<unknown>(props as unknown as KyselyProps);
}

const ofPg = new WeakSet<DatabaseConnection>();

function typedConnection(connection: DatabaseConnection): DatabaseConnection {
  if (connection.constructor.name !== "PostgresConnection") return connection; // of another driver than pg
  const typed: DatabaseConnection = {
    executeQuery: <R>(query: Parameters<DatabaseConnection["executeQuery"]>[0]): Promise<QueryResult<R>> =>
      connection.executeQuery<R>({ ...query, sql: ownTyped(query.sql) }),
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  };
  ofPg.add(typed);
  return typed;
}

/** Whether the driver of a database of `withOwnTypes` is `pg`. */
export function isOfPg(db: Kysely<unknown>): Promise<boolean> {
  return db.getExecutor().provideConnection(async (connection) => ofPg.has(connection));
}
