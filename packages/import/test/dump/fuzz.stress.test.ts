import { fuzz } from "./fuzz.ts";

fuzz(5000);
