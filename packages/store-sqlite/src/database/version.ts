/** The version of this package; a test compares it with package.json. The thread imports no other package, so not that of core. */
export const packageVersion = "0.1.0";
