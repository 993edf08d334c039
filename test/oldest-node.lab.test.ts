import { it } from "vitest";
import { expectPassOnOldestNode } from "./passes-on-oldest-node.ts";

it("all tests of SQLite pass on the oldest Node.js, 22.18, whose SQLite is written without a log", (context) =>
  expectPassOnOldestNode(context, ["packages/store-sqlite"]));
