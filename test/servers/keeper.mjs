// Keeps one server and its folder for the tests: `node keeper.mjs <folder> <uid> <stop signal> <command> <argument…>`.
// A line on standard input starts the server; lines on standard output say {"pid"} and {"exit"}. When standard input
// ends, however the tests came to their end (SIGKILL included), the server is stopped, killed if that takes it more than
// two seconds, and the folder removed. A Postgres that is killed would leave its shared memory behind.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

const [folder = "", uid = "", stopSignal = "", command = "", ...args] = process.argv.slice(2);
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

/**
 * @param {number[]} pids
 * @param {string} signal
 */
function send(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // ended meanwhile
    }
  }
}

/** @param {number} pid */
function stop(pid) {
  send([pid], stopSignal);
  send([pid, ...childrenOf(pid)], "SIGCONT"); // a test may have frozen it
  setTimeout(() => send([pid, ...childrenOf(pid)], "SIGKILL"), 2000);
}

process.on("SIGINT", () => {}); // the terminal's: the tests end first
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
