import { describe, expect, test } from "vitest";
import { addClient } from "../../src/account/clients.ts";
import { findEsim, findEsimOf } from "../../src/esim/esim.ts";
import { registerOnNetwork } from "../../src/esim/network.ts";
import { orderEsim } from "../../src/lifecycle/order-esim.ts";
import { portInsOf } from "../../src/number/port-in.ts";
import { partner, refusal } from "../partner.ts";

const portIn = { msisdn: "31612345678", details: { donorContractType: "postpaid" } } as const;

describe("orderEsim", () => {
  test("gives a profile and an eSIM in the service's forms, and tells that it is ready", () => {
    const { order, events } = partner();
    const esim = order();
    const { profileReference, esimReference, iccid } = esim;
    expect(profileReference).toMatch(/^\d{16}$/);
    expect(esimReference).toMatch(/^\d{18}$/);
    expect(iccid).toMatch(/^89\d{17}$/);
    expect(esim).toMatchObject({ esimVariant: "standard", lifecycleStatus: "active", activatedAt: null });
    expect(events()).toEqual([{ type: "esim.assigned", data: { profileReference, esimReference, iccid } }]);
  });

  test("takes the variant that is named, or the client's, and refuses to guess", () => {
    expect(partner().order({ esimVariant: "premium" }).esimVariant).toBe("premium");
    expect(partner({ defaultEsimVariant: "premium" }).order().esimVariant).toBe("premium");
    expect(() => partner({ defaultEsimVariant: null }).order()).toThrow(
      refusal("invalid", "no default variant"),
    );
    expect(() => partner().order({ esimVariant: "gold" })).toThrow(refusal("invalid", "premium, standard"));
  });

  test("refuses an externalProfileId that another profile has, and says which one", () => {
    const { service, order, events } = partner();
    const { profileReference } = order({ externalProfileId: "user-1" });
    events();
    expect(() => order({ externalProfileId: "user-1" })).toThrow(
      refusal("external_profile_taken", new RegExp(`"user-1".*your profile ${profileReference}`)),
    );
    expect(events()).toEqual([]);
    const another = addClient(service).clientId;
    expect(orderEsim(service, another, { externalProfileId: "user-1" }).externalProfileId).toBe("user-1");
  });

  test("refuses more profiles than the client may hold", () => {
    const { order } = partner({ maxProfiles: 2 });
    order();
    order();
    expect(() => order()).toThrow(refusal("max_profiles", "has 2 profiles"));
  });

  test("takes from the stock, and refuses when there is none", () => {
    const variants = [{ esimVariant: "rare", name: "Rare", description: "", available: 1 }];
    const { order } = partner({ variants });
    order();
    expect(() => order()).toThrow(refusal("no_stock"));
  });

  test("registers the port-in of the order, so that the eSIM is not activated before", () => {
    const { service, order } = partner();
    const { esimReference } = order({ portIn });
    expect(portInsOf(service, esimReference)).toMatchObject([{ msisdn: portIn.msisdn, status: "requested" }]);
    registerOnNetwork(service, esimReference, "NL");
    expect(findEsim(service, esimReference).activatedAt).toBeNull();
  });

  test("orders nothing when the port-in is refused", () => {
    const { order, events, service } = partner({
      variants: [{ esimVariant: "one", name: "One", description: "", available: 1 }],
    });
    expect(() => order({ portIn: { ...portIn, msisdn: "0612345678" } })).toThrow(
      refusal("invalid", "msisdn"),
    );
    expect(events()).toEqual([]);
    expect(service.db.all("select * from profiles")).toEqual([]);
    expect(order().esimVariant).toBe("one");
  });
});

describe("findEsimOf", () => {
  test("tells what is not there from what belongs to another client", () => {
    const { service, clientReference, order } = partner();
    const mine = order();
    const second = order();
    const other = orderEsim(service, addClient(service).clientId);
    const find = (profile: string, esim: string) => findEsimOf(service, clientReference, profile, esim);
    expect(find(mine.profileReference, mine.esimReference)).toEqual(mine);
    expect(() => find("0", mine.esimReference)).toThrow(refusal("not_found", "no profile 0"));
    expect(() => find(mine.profileReference, "0")).toThrow(refusal("not_found", "no eSIM 0"));
    expect(() => find(mine.profileReference, second.esimReference)).toThrow(
      refusal("not_found", "has no eSIM"),
    );
    expect(() => find(mine.profileReference, other.esimReference)).toThrow(refusal("not_yours"));
    expect(() => find(other.profileReference, other.esimReference)).toThrow(refusal("not_yours"));
  });
});
