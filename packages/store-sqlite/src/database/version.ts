/** The version of this package; a test compares it with package.json. The thread loads no other package, so it cannot use core's version. */
export const packageVersion = "0.1.0";
