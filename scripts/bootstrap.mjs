// Installs what a command needs when it is missing or older than its lock file, so that any command of package.json works
// as the first one in a fresh clone. Runs on the host's own Node.js. Each argument names a set; without one it is `runtime`:
//   runtime      what the sandbox, the receiver and the demo need; the pinned Node.js only if the host's is too old for them
//   development  everything in the root's package.json
//   <folder>     what only some tests or benches need; the folder has a package.json and a lock file of its own
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const canRunSources = Boolean(process.features.typescript); // from Node.js 22.18 on

/** The dependencies that npm leaves out of a set. The pinned Node.js is the root's only optional dependency. */
const rootSets = {
  runtime: {
    omit: canRunSources ? ["dev", "optional"] : ["dev"],
    title: "what the sandbox, the receiver and the demo need",
  },
  development: { omit: [], title: "what the tests and the build need" },
};

let heldLock; // of the set that this process is installing
const pollMs = 100;
const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"];

function setNamed(name) {
  const folder = name in rootSets ? root : join(root, name);
  const read = (file) => readFileSync(join(folder, file), "utf8");
  return {
    ...(rootSets[name] ?? { omit: [], title: JSON.parse(read("package.json")).description }),
    folder,
    locked: createHash("sha256").update(read("package-lock.json")).digest("hex"),
    stamp: join(folder, "node_modules", ".installed-lock"),
    lock: join(folder, ".installing"), // holds the id of the process that installs, and what it installs
  };
}

/** Reads the stamp of the last completed installation; undefined if there is none. */
function lastInstalled({ stamp }) {
  try {
    return JSON.parse(readFileSync(stamp, "utf8"));
  } catch {
    return undefined;
  }
}

function isInstalled(set) {
  const last = lastInstalled(set);
  return last?.locked === set.locked && last.omit.every((kind) => set.omit.includes(kind));
}

/** Whether this process may install: one at a time in a folder, as two would spoil each other's node_modules. */
function takesLock({ lock, title }) {
  try {
    writeFileSync(lock, `${process.pid} ${title}`, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

/** Waits until the process that installs has ended, and removes the lock of one that was killed. */
async function awaitLock({ lock }) {
  const { pid, title } = ownerOf(lock);
  if (pid !== 0 && isRunning(pid)) {
    process.stderr.write(`Process ${pid} is installing. If it is another program, delete ${lock}.\n`);
    const finish = startProgress(`Waiting for ${title}`);
    while (existsSync(lock) && isRunning(pid)) await setTimeout(pollMs);
    finish();
  } else {
    if (pid !== 0) rmSync(lock, { force: true });
    await setTimeout(pollMs);
  }
}

/** The id is 0 while the lock is being written, and when it has just been released. */
function ownerOf(lock) {
  try {
    const [pid, ...title] = readFileSync(lock, "utf8").split(" ");
    return { pid: Number(pid), title: title.join(" ") };
  } catch {
    return { pid: 0, title: "" };
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Shows what is being done and for how long: every second on a terminal, every ten seconds in a log. */
function startProgress(text) {
  const { isTTY } = process.stderr;
  const start = performance.now();
  const line = () => `${text} … ${Math.round((performance.now() - start) / 1000)} s`;
  const show = () => process.stderr.write(isTTY ? `\r${line()}` : `${line()}\n`);
  show();
  const timer = setInterval(show, isTTY ? 1000 : 10_000);
  return () => {
    clearInterval(timer);
    process.stderr.write(`${isTTY ? "\r" : ""}${line()}: finished.\n`);
  };
}

async function install(set) {
  const last = lastInstalled(set);
  const omit = set.omit.filter((kind) => last === undefined || last.omit.includes(kind));
  const kinds = ["dev", "optional"].map((kind) => `--${omit.includes(kind) ? "omit" : "include"}=${kind}`);
  // npm ci empties the folder first: right where an installation was killed, wrong where a command may be running from it
  const how = last === undefined ? ["ci"] : ["install", "--no-save"];
  rmSync(set.stamp, { force: true });
  const finish = startProgress(`Installing ${set.title}`);
  await runNpm([...how, ...kinds, "--no-audit", "--no-fund", "--loglevel=error"], set.folder);
  finish();
  writeFileSync(set.stamp, JSON.stringify({ locked: set.locked, omit }));
}

/** Ends this process if npm fails. */
async function runNpm(args, cwd) {
  const npm = process.env["npm_execpath"];
  const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
  const child = spawn(command, [...first, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let isStopped = false;
  const stop = (signal) => {
    isStopped = true;
    child.kill(signal);
  };
  for (const signal of stopSignals) process.on(signal, stop);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      output += text;
    });
  }
  const [status] = await once(child, "close");
  for (const signal of stopSignals) process.off(signal, stop);
  if (status === 0) return;
  const problem = isStopped
    ? "The installation was stopped. The next command starts it again."
    : "The dependencies could not be installed. npm's message above says why.";
  process.stderr.write(`\n${output}\n${problem}\n`);
  process.exit(1);
}

process.on("exit", () => heldLock && rmSync(heldLock));
for (const name of process.argv.length > 2 ? process.argv.slice(2) : ["runtime"]) {
  const set = setNamed(name);
  while (!isInstalled(set)) {
    if (!takesLock(set)) {
      await awaitLock(set);
      continue;
    }
    heldLock = set.lock;
    if (!isInstalled(set)) await install(set);
    rmSync(heldLock);
    heldLock = undefined;
  }
}
