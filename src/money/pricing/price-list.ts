import type { Pool } from 'pg';
import { type Channel, chargedUnits } from '../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { numberForPrefix } from '../../platform/lib/phone/user-id.ts';
import { listPrices } from './sql.ts';

/** The price of one part (SMS) or one message (elsewhere), with its refund rule for undelivered messages. */
export type UnitPrice = { readonly unitMicros: number; readonly refundUndelivered: boolean };

/**
 * Returns the price for a channel and number; null when the list has none. `destination` is E.164 with its plus, or the
 * user id of a person on WhatsApp who shows no number.
 */
export type FindPrice = (channel: Channel, destination: string) => UnitPrice | null;

/** Creates a price list in memory, because it is needed for every message; `reload` it after each change. */
export function createPriceList(pool: Pool): { find: FindPrice; reload(): Promise<void> } {
  let table: PrefixTable<UnitPrice> = prefixTable([]);
  return {
    find: (channel, destination) => table.find(channel, numberForPrefix(destination)) ?? null,
    async reload() {
      const prices = await listPrices(pool);
      table = prefixTable(prices.map(({ channel, prefix, ...value }) => ({ group: channel, prefix, value })));
    },
  };
}

/** Returns the price of a whole message in millionths: per part on SMS, once elsewhere. */
export const priceOf = (channel: Channel, { unitMicros }: UnitPrice, parts: number): number =>
  unitMicros * chargedUnits(channel, parts);
