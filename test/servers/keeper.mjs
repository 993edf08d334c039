// Keeps one server and its folder for the tests: `node keeper.mjs <folder> <uid> <command> <argument…>`.
// A line on standard input starts the server; lines on standard output say {"pid"} and {"exit"}. When standard input
// ends, however the tests came to their end (SIGKILL included), the server is killed and the folder removed.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

const [folder = "", uid = "", command = "", ...args] = process.argv.slice(2);
/** @type {import("node:child_process").ChildProcess | undefined} */
let server;

/** @param {object} message */
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

function start() {
  server = spawn(command, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    ...(uid !== "" && { uid: Number(uid), gid: Number(uid) }),
  });
  let lastWords = "";
  server.stderr?.on("data", (chunk) => {
    lastWords = `${lastWords}${chunk}`.slice(-2000);
  });
  server.on("error", (error) => say({ exit: error.message }));
  server.on("exit", () => say({ exit: lastWords }));
  if (server.pid !== undefined) say({ pid: server.pid });
}

/** @param {number} pid */
function childrenOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // not on Linux: children end by themselves when their server has
  }
}

function killAll() {
  if (server?.pid === undefined || server.exitCode !== null) return;
  for (const pid of [server.pid, ...childrenOf(server.pid)]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // ended meanwhile
    }
  }
}

process.on("SIGINT", () => {}); // the terminal's: the tests end first
process.stdout.on("error", () => {});
createInterface(process.stdin)
  .on("line", start)
  .on("close", () => {
    killAll();
    const end = () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      process.exit();
    };
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) end();
    else server.on("exit", end);
  });
