import { it } from "vitest";
import { expectPassOnOldestNode } from "./passes-on-oldest-node.ts";

it("SQLite keeps its contracts, also through crashes, on the oldest Node.js, 22.18, whose SQLite is written without a log", (context) =>
  expectPassOnOldestNode(
    context,
    ["sqlite-", "crash.", "journal."].map((name) => `packages/store-sqlite/test/${name}`),
  ));
