import { testsWithNestOf } from "./nest-tests.ts";

await testsWithNestOf("test/nest-12");
