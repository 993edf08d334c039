import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import Plot from "uplot";
import type { MinuteView } from "../src/views.ts";
import { exactTime, number } from "./shown.tsx";
import { isDark } from "./theme.ts";

type Line = Exclude<keyof MinuteView, "at">;

const lines: readonly {
  readonly name: Line;
  readonly label: string;
  readonly dash: number[];
  readonly width: number;
}[] = [
  { name: "stored", label: "Stored", dash: [], width: 1.5 },
  { name: "done", label: "Done or unhandled", dash: [6, 3], width: 1.5 },
  { name: "retried", label: "Retried", dash: [2, 3], width: 2 },
  { name: "dead", label: "Dead", dash: [], width: 2.5 },
];

const minuteMs = 60_000;

/** Each minute up to the last full one. One without an entry had no events. */
export function filled(minutes: readonly MinuteView[], hours: number, now: number): MinuteView[] {
  const known = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]));
  const oldest = Math.min(...known.keys());
  const last = Math.floor(now / minuteMs) * minuteMs - minuteMs;
  const first = Math.max(oldest, last - (hours * 60 - 1) * minuteMs);
  const result: MinuteView[] = [];
  for (let at = first; at <= last; at += minuteMs)
    result.push(known.get(at) ?? { at: new Date(at).toISOString(), stored: 0, done: 0, retried: 0, dead: 0 });
  return result;
}

const spans = [1, 6, 24] as const;

/** The distances between labels below the plot, in seconds: whole minutes, since a label has no seconds. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720].map((minutes) => minutes * 60);

export function Minutes({ minutes, now }: { readonly minutes: readonly MinuteView[]; readonly now: number }) {
  const chosenHours = useSignal<number>(6);
  const chosen = useSignal<number | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(null);
  const longest = Math.ceil((now - Date.parse(minutes[0]?.at ?? "")) / 3_600_000);
  const shownSpans = spans.filter((_, index) => index === 0 || longest > (spans[index - 1] ?? 0));
  const hours = Math.min(chosenHours.value, shownSpans.at(-1) ?? 1);
  const rows = filled(minutes, hours, now);
  const data = [
    rows.map(({ at }) => Date.parse(at) / 1000),
    ...lines.map(({ name }) => rows.map((row) => row[name])),
  ] as Plot.AlignedData;
  const end = Math.floor(now / minuteMs - 1) * 60; // the last full minute
  const range: [number, number] = [end - (hours * 60 - 1) * 60, end];
  const latest = useRef({ data, range });
  latest.current = { data, range };
  const dark = isDark();

  useEffect(() => {
    const target = place.current;
    const names = legend.current;
    if (target === null || names === null) return;
    const colorOf = (selector: string) => {
      const element = names.querySelector(selector);
      return element === null ? "" : getComputedStyle(element).color;
    };
    const axis = {
      stroke: colorOf(".plot-axis"),
      grid: { stroke: colorOf(".plot-grid"), width: 1 },
      ticks: { show: false },
      font: `11px ${getComputedStyle(target).fontFamily}`,
    };
    const made = new Plot(
      {
        width: target.clientWidth,
        height: 180,
        padding: [8, 20, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: {
          x: { range: () => latest.current.range },
          y: { range: (_, __, most) => [0, Math.max(5, most * 1.1)] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            incrs: steps,
            values: (_, seconds) =>
              seconds.map((at) => exactTime(new Date(at * 1000).toISOString()).slice(11, 16)),
          },
          { ...axis, size: 44 },
        ],
        series: [
          {},
          ...lines.map(({ name, dash, width }) => ({
            stroke: colorOf(`.plot-${name}`),
            dash,
            width,
            points: { show: false },
          })),
        ],
        hooks: {
          setCursor: [
            ({ cursor }) => {
              chosen.value = cursor.idx ?? null;
            },
          ],
        },
      },
      latest.current.data,
      target,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: target.clientWidth, height: 180 }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [dark]);
  useEffect(() => plot.current?.setData(data), [rows.length, rows.at(-1)?.at, hours]);

  const row = chosen.value === null ? undefined : rows[chosen.value];
  const total = (name: Line) => rows.reduce((sum, each) => sum + each[name], 0);
  return (
    <>
      <div class="plot-head">
        <div class="plot-legend" ref={legend}>
          {lines.map(({ name, label }) => (
            <span key={name} class="plot-name">
              <svg viewBox="0 0 22 8" class={`plot-line plot-${name}`} aria-hidden="true">
                <path d="M0 4h22" stroke="currentColor" />
              </svg>
              {label} <strong>{number(row === undefined ? total(name) : row[name])}</strong>
            </span>
          ))}
          <span class="quiet">
            {row === undefined ? `in ${Math.ceil(rows.length / 60)} h` : exactTime(row.at).slice(0, 16)}
          </span>
          <i class="plot-axis" />
          <i class="plot-grid" />
        </div>
        {shownSpans.length > 1 && (
          <fieldset class="segments" aria-label="Time shown">
            {shownSpans.map((span) => (
              <button
                key={span}
                type="button"
                aria-pressed={hours === span}
                onClick={() => {
                  chosenHours.value = span;
                }}
              >
                {span} h
              </button>
            ))}
          </fieldset>
        )}
      </div>
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label={`Events by minute: ${lines.map(({ name, label }) => `${label} ${number(total(name))}`).join(", ")} in all`}
      />
    </>
  );
}
