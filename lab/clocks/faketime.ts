import { globSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { program } from "../../test/servers/binaries.ts";

/** The clock of some processes, which a trial sets while they run. */
export interface FakeClock {
  /** Sets the wall clock to this many seconds ahead of this machine's; below 0 is behind. */
  set(aheadSeconds: number): void;
  /** The environment of a process that has this clock. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Creates a clock in a folder that its processes may read. With a speed of 1, only the wall clock is wrong, as when someone sets it. With
 * another one the monotonic clock and all waits are wrong as well, as when an oscillator is.
 */
export function createFakeClock(folder: string, name: string, speed = 1): FakeClock {
  const file = join(folder, `${name}.clock`);
  const library = libfaketime();
  const clock: FakeClock = {
    set(aheadSeconds) {
      const sign = aheadSeconds < 0 ? "-" : "+";
      writeFileSync(`${file}.new`, `${sign}${Math.abs(aheadSeconds)}${speed === 1 ? "" : ` x${speed}`}\n`);
      renameSync(`${file}.new`, file); // a process reads it at each look at the clock
    },
    environment: {
      // libc before jemalloc, which Debian's Redis uses: jemalloc reads the clock while libfaketime looks its functions up, and both wait indefinitely
      LD_PRELOAD: `${library}:libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      NO_FAKE_STAT: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: speed === 1 ? "1" : "0",
    },
  };
  clock.set(0);
  return clock;
}

/** The library for programs with threads, installed if that is possible. */
function libfaketime(): string {
  program("faketime", "faketime", "");
  const [library] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1");
  if (library === undefined)
    throw new Error("The trials need libfaketimeMT.so.1. Install it on Debian: apt-get install faketime.");
  return library;
}
