import type { Pool } from 'pg';
import type { Channel } from '../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/prefix-table.ts';
import { listPrices } from './sql.ts';

/** What one part (SMS) or one message (elsewhere) to a number costs, and when it is given back. */
export type UnitPrice = { readonly unitMicros: number; readonly refundUndelivered: boolean };

/** The price of a channel and number; null when the list has none. `destination` is E.164 with its plus. */
export type FindPrice = (channel: Channel, destination: string) => UnitPrice | null;

/** The price list from memory, read again at each change: it is asked for every message. */
export function createPriceList(pool: Pool): { find: FindPrice; reload(): Promise<void> } {
  let table: PrefixTable<UnitPrice> = prefixTable([]);
  return {
    find: (channel, destination) => table.find(channel, destination) ?? null,
    async reload() {
      const prices = await listPrices(pool);
      table = prefixTable(prices.map(({ channel, prefix, ...value }) => ({ group: channel, prefix, value })));
    },
  };
}

/** The whole price of a message: per part on SMS, once elsewhere. */
export const priceOf = (channel: Channel, { unitMicros }: UnitPrice, parts: number): number =>
  channel === 'SMS' ? unitMicros * parts : unitMicros;
