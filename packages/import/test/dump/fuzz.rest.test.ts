import { fuzz } from "./fuzz.ts";

fuzz(300);
