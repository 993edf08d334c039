// node modules.mjs NAME: prints the files that importing a package loads, a URL a line.
import { registerHooks } from "node:module";

registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) console.log(url);
    return next(url, context);
  },
});
await import(process.argv[2]);
