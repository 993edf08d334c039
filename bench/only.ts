import { benchServersOnly } from "./otel-only.ts";
await benchServersOnly();
