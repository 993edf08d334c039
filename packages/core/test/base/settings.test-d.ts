import { expectTypeOf, it } from "vitest";
import type { SettingsOf } from "../../src/base/options.ts";

interface Options {
  readonly limit?: number | undefined;
  name?: string;
  signal?: AbortSignal;
}

it("settings have every option, and undefined only for options without a default", () => {
  type Settings = SettingsOf<Options, "signal">;
  expectTypeOf<Settings["limit"]>().toEqualTypeOf<number>();
  expectTypeOf<Settings["name"]>().toEqualTypeOf<string>();
  expectTypeOf<Settings["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
  expectTypeOf<{ limit: number; name: string }>().not.toExtend<SettingsOf<Options>>();
});
