import type { SettingsOf } from "@esim-webhooks/core/kit";
import { expectTypeOf, it } from "vitest";

interface Options {
  readonly limit?: number | undefined;
  name?: string;
  signal?: AbortSignal;
}

it("has every option, and undefined only where there is no default", () => {
  type Settings = SettingsOf<Options, "signal">;
  expectTypeOf<Settings["limit"]>().toEqualTypeOf<number>();
  expectTypeOf<Settings["name"]>().toEqualTypeOf<string>();
  expectTypeOf<Settings["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
  expectTypeOf<{ limit: number; name: string }>().not.toExtend<SettingsOf<Options>>();
});
