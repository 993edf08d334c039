import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { redirects } from "../../redirects.ts";
import MermaidDiagram from "./MermaidDiagram.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("MermaidDiagram", MermaidDiagram);
    if (typeof location === "undefined") return; // the site is being built
    const moved = redirects[location.pathname + location.hash];
    if (moved !== undefined) location.replace(moved);
  },
} satisfies Theme;
