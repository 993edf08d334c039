// Runs one server in a folder for the tests: `node keeper.mjs <folder> <uid> <stop signal> <command> <argument…>`.
// A line on standard input starts the server; lines on standard output report {"pid"} and {"exit"}. Standard input closes
// when the tests end, even by SIGKILL: then the keeper stops the server, kills it after a minute, and removes the
// folder. It does not kill immediately, because a killed Postgres leaves its shared memory behind.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

const [folder = "", uid = "", stopSignal = "", command = "", ...args] = process.argv.slice(2);
/** @type {import("node:child_process").ChildProcess | undefined} */
let server;

/** @param {object} message */
const report = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

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
  server.on("error", (error) => report({ exit: error.message }));
  server.on("exit", () => report({ exit: lastWords }));
  if (server.pid !== undefined) report({ pid: server.pid });
}

/** @param {number} pid */
function childrenOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // not on Linux: the children end by themselves after their server
  }
}

/**
 * @param {number[]} pids
 * @param {string} signal
 */
function send(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it has already ended
    }
  }
}

/** @param {number} pid */
function stop(pid) {
  send([pid], stopSignal);
  send([pid, ...childrenOf(pid)], "SIGCONT"); // a test may have paused it
  setTimeout(() => send([pid, ...childrenOf(pid)], "SIGKILL"), 60_000);
}

process.on("SIGINT", () => {}); // Ctrl-C: the tests end first
process.stdout.on("error", () => {});
createInterface(process.stdin)
  .on("line", start)
  .on("close", () => {
    const end = () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      process.exit();
    };
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return end();
    server.on("exit", end);
    stop(server.pid);
  });
