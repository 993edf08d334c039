import { mkdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import type { Random } from "../simulation/random.ts";
import { createDisk, type Disk, readStored, type Stored, type Survival } from "./disk.ts";
import type { DiskCall, DiskFault, Layer } from "./layer.ts";
import type { Writer } from "./writer.ts";

/** One call of a writer, as the layer has recorded it. */
export interface Recording {
  readonly folder: string;
  /** The folder before the first call. */
  readonly begun: Stored;
  readonly calls: readonly DiskCall[];
}

/** A broken promise: at which call, after which fault, and how it shows. */
export interface Broken {
  readonly call: number;
  readonly after: string;
  readonly error: unknown;
}

/** Trials of writers on the disk of a layer. `copies`: a folder that the layer does not watch. */
export interface Trials {
  /** Records a writer on a disk that does not fail. */
  record(writer: Writer): Promise<Recording>;
  /** Cuts the power at these calls, and yields the broken promises. */
  cut(writer: Writer, recording: Recording, at: readonly number[]): AsyncGenerator<Broken>;
  /** Lets one call fail, then the disk works again and the writer continues, then the power is cut. */
  fail(writer: Writer, call: number, fault: DiskFault): AsyncGenerator<Broken>;
}

/** How often each cut is tried, with other changes that are lost. */
export const cutsOfCall = ({ isSlow }: Writer): number => (isSlow ? 1 : 6);

/**
 * The files and folders that a writer syncs, without what is random in their names. Not the rollback journal, which SQLite uses only until
 * the file has its log.
 */
export function syncsIn({ folder, calls }: Recording): ReadonlySet<string> {
  const synced = calls.flatMap((call) => (call.call === "sync" ? [nameOf(call.path, folder)] : []));
  return new Set(synced.filter((name) => !name.startsWith("..") && !name.endsWith("-journal")));
}

/** The recording of a broken build, which does not sync these files. */
export function withoutSync(recording: Recording, name: string): Recording {
  const { folder, calls } = recording;
  return {
    ...recording,
    calls: calls.filter((call) => call.call !== "sync" || nameOf(call.path, folder) !== name),
  };
}

function nameOf(path: string, folder: string): string {
  return (
    relative(folder, path).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d+/g, "…") || "its folder"
  );
}

export function createTrials(layer: Layer, copies: string, random: Random): Trials {
  const [all, none, half] = [() => true, () => false, () => random.chance(0.5)];
  const survivals: readonly (Survival & { readonly after: string })[] = [
    { after: "nothing unsynced is there", name: none, data: none, tears: false },
    { after: "everything is there", name: all, data: all, tears: false },
    { after: "every name is there, and no unsynced data", name: all, data: none, tears: false },
    { after: "some names and writes are there", name: half, data: half, tears: false },
    { after: "some names and sectors are there", name: half, data: half, tears: true },
    { after: "other names and sectors are there", name: half, data: half, tears: true },
  ];
  let folders = 0;
  let cuts = 0;

  async function begin({ prepare }: Writer): Promise<Omit<Recording, "calls">> {
    const name = `${++folders}`;
    const stored = join(layer.backing, name);
    mkdirSync(layer.backing, { recursive: true });
    await (prepare ?? mkdirSync)(stored);
    layer.takeRecord();
    return { folder: join(layer.folder, name), begun: readStored(stored) };
  }

  async function* checkCut(
    writer: Writer,
    disk: Disk,
    call: number,
    acknowledged: readonly string[],
  ): AsyncGenerator<Broken> {
    for (let n = cutsOfCall(writer); n > 0; n--) {
      const { after, ...survival } = survivals[cuts++ % survivals.length] as (typeof survivals)[number];
      const copy = join(copies, `${++folders}`);
      disk.restore(copy, survival);
      const kept = [...acknowledged];
      try {
        await writer.check(copy, kept);
        if (after !== survivals.at(-1)?.after) continue;
        await writer.write(copy, (what) => kept.push(what)); // and the writer continues
        await writer.check(copy, kept);
      } catch (error) {
        yield { call, after: `a power cut after which ${after}`, error };
      } finally {
        rmSync(copy, { recursive: true });
      }
    }
  }

  return {
    async record(writer) {
      const place = await begin(writer);
      await writer.write(place.folder, layer.acknowledge);
      const calls = layer.takeRecord();
      rmSync(place.folder, { recursive: true });
      return { ...place, calls };
    },
    async *cut(writer, { folder, begun, calls }, at) {
      const disk = createDisk(folder, begun);
      const acknowledged: string[] = [];
      for (const [index, call] of calls.entries()) {
        if (call.call === "acknowledged") acknowledged.push(call.text);
        else disk.apply(call);
        if (at.includes(index)) yield* checkCut(writer, disk, index, acknowledged);
      }
    },
    async *fail(writer, call, fault) {
      const { folder, begun } = await begin(writer);
      const acknowledged: string[] = [];
      const acknowledge = (what: string) => acknowledged.push(what);
      try {
        layer.arm(call, fault);
        await writer.write(folder, acknowledge).catch((thrown: unknown) => {
          if (!WebhookError.is(thrown) && !("errno" in Object(thrown))) throw thrown;
        });
        layer.disarm();
        await writer.check(folder, acknowledged);
        await writer.write(folder, acknowledge);
        await writer.check(folder, acknowledged);
      } catch (thrown) {
        yield { call, after: fault, error: thrown };
      }
      layer.disarm();
      const disk = createDisk(folder, begun);
      for (const each of layer.takeRecord()) if (each.call !== "acknowledged") disk.apply(each);
      yield* checkCut(writer, disk, call, acknowledged);
      rmSync(folder, { recursive: true });
    },
  };
}
