import { expectWarnings } from "../support/warnings.ts";
import { failoverUnderFire } from "./failover.ts";

expectWarnings("read_only_store");

failoverUnderFire({ events: 400, rounds: 1, mostAtOnce: 100 });
