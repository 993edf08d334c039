import { effect, signal } from "@preact/signals";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const item = "esim-webhooks-dashboard-theme";

export const theme = signal<Theme>(themes.find((each) => each === kept()) ?? "system");

/** Storage may be blocked: then the theme lasts as long as the page. */
function kept(): string | null {
  try {
    return localStorage.getItem(item);
  } catch {
    return null;
  }
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  try {
    localStorage.setItem(item, theme.value);
  } catch {}
});

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => {
  isSystemDark.value = system.matches;
});

export function isDark(): boolean {
  return theme.value === "system" ? isSystemDark.value : theme.value === "dark";
}

/** Black or white, whichever is easier to read on a hex colour. */
export function readableOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.179 ? "#000000" : "#ffffff";
}
