#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `esim-webhooks needs Node.js 22.18 or newer; this is ${process.version}. Install a newer Node.js.`,
  );
  process.exit(2);
}
process.getBuiltinModule("node:module").enableCompileCache?.(); // a fifth of the start-up; Deno has none
await import("../dist/main.js");
