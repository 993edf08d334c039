import type { Reporter, TestModule } from "vitest/node";
import { type Loops, measuredLoops, processCpu } from "./cpu.ts";
import type { Limits } from "./limits.ts";
import { type MeasuredFile, overBudget } from "./over-budget.ts";

/** Prints the dearest files of a run, and in CI fails a tier or a file that exceeds its budget. */
export function budgetReporter(limits: Limits): Reporter {
  const startedAt = performance.now();
  const loops: Loops[] = [];
  const timer = setInterval(() => loops.push(measuredLoops()), 2000);
  timer.unref();
  return {
    onTestRunEnd(modules) {
      clearInterval(timer);
      const files = modules.map(measured).filter(({ cpu }) => !Number.isNaN(cpu));
      if (files.length === 0) return;
      const of = (loop: keyof Loops) =>
        (median(loops.map((one) => one[loop])) || limits.loops[loop]) / limits.loops[loop];
      const speed = Math.max(of("counting"), of("memory"));
      const wall = (performance.now() - startedAt) / 1000;
      const cpu = processCpu().own + files.reduce((sum, file) => sum + file.cpu, 0);
      const dearest = files.toSorted((a, b) => b.cpu - a.cpu).slice(0, 10);
      console.log(`\nThe dearest ${dearest.length} of ${files.length} files, by their CPU:`);
      for (const each of dearest) console.log(`${each.cpu.toFixed(1).padStart(7)} s  ${each.name}`);
      process.once("exit", () => {
        const { own, children } = processCpu(); // the servers that the files share have ended by then
        const shared = Math.max(0, own + children - cpu);
        console.log(
          `In all ${wall.toFixed(0)} s, ${cpu.toFixed(0)} s of CPU and ${shared.toFixed(0)} s of shared servers, at ${speed.toFixed(2)} × the loops of the limits.`,
        );
        const over = overBudget({ wall, cpu, speed, files }, limits);
        for (const line of over) console.error(`Over the budget of test/budget/limits.ts: ${line}`);
        if (over.length > 0 && process.env["CI"]) process.exitCode = 1;
      });
    },
  };
}

function measured(module: TestModule): MeasuredFile {
  const { cpu = Number.NaN, isFirst = false } = module.meta();
  return { project: module.project.name, name: module.relativeModuleId, cpu, isFirst };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
