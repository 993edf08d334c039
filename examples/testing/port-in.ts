import { type DataOf, defineCatalog, type Handlers } from "@esim-webhooks/core";
import * as z from "zod";

export const catalog = defineCatalog({
  "port_in.completed": z.looseObject({ portInRequestReference: z.string() }),
  "port_in.failed": z.looseObject({ portInRequestReference: z.string() }), // only what the handler uses
});

export const portIns = new Map<string, string>(); // in place of your own table

export const handlers: Handlers<DataOf<typeof catalog>> = {
  "port_in.completed": ({ data }) => void portIns.set(data.portInRequestReference, "completed"),
  "port_in.*": ({ type, data }, { logger }) => {
    if (type === "port_in.failed") portIns.set(data.portInRequestReference, "failed");
    else logger.info({ type }, "a step of a port-in whose fields are not known"); // data: unknown fields
  },
};
