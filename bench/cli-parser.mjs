// An empty script that imports the command line's parser: what its start-up is measured against.
import "@stricli/core";
