import { moduleTests } from "./module-tests.ts";

moduleTests("Nest 12");
