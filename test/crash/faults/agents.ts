/** The example agents, in a world in which each thing that they do is a point before and after it. */
import { setTimeout } from "node:timers/promises";

import concierge from "../../../examples/agents/concierge.ts";
import { meetings } from "../../../examples/agents/meetings.ts";
import { Calendars } from "../../../examples/agents/meetings/calendars.ts";
import type { Booking, Meeting } from "../../../examples/agents/meetings/calendars.ts";
import { refunds } from "../../../examples/agents/refunds.ts";
import { Shop } from "../../../examples/agents/refunds/shop.ts";
import type { Order, Receipt } from "../../../examples/agents/refunds/shop.ts";
import { bankMs, pass } from "./point.ts";

function around<Result>(what: string, code: () => Result): Result {
  pass(`before ${what}`);
  const result = code();
  pass(`after ${what}`);
  return result;
}

class DeadlyShop extends Shop {
  override order(id: string): Order | undefined {
    return around("finding the order", () => super.order(id));
  }

  override refund(order: string): Receipt {
    const receipt = around("paying back", () => super.refund(order));
    const ms = bankMs();
    return ms === 0 ? receipt : (setTimeout(ms, receipt) as unknown as Receipt);
  }
}

class DeadlyCalendars extends Calendars {
  override isConnected(owner: string): boolean {
    return around("looking at the connection", () => super.isConnected(owner));
  }

  override free(owner: string, after: Date): readonly string[] {
    return around("finding a time", () => super.free(owner, after));
  }

  override book(booking: Booking): Meeting | undefined {
    return around("booking", () => super.book(booking));
  }
}

export const refunding = refunds(new DeadlyShop());
export const meeting = meetings(new DeadlyCalendars());
export { concierge };
