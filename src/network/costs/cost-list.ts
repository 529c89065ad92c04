import type { Pool } from 'pg';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { numberForPrefix } from '../../platform/lib/phone/user-id.ts';
import { listCosts } from './sql.ts';

/**
 * Returns what the carrier of a connection charges for a number, in millionths: per part on SMS, per message elsewhere. Null
 * when nobody has said. A cost for the network (MCC and MNC, such as 22201) goes before one for the prefix alone; then the
 * longest prefix decides. `destination` is E.164 with its plus, or the user id of a person on WhatsApp who shows no number.
 */
export type FindCost = (connectionId: number, destination: string, network?: string | null) => number | null;

/** What is known of the costs of connections. */
export type Costs = {
  readonly find: FindCost;
  /** Whether any cost is stated for a connection: margins are kept for those alone. */
  isPriced(connectionId: number): boolean;
};

/** Nothing is known of any cost. */
export const NO_COSTS: Costs = { find: () => null, isPriced: () => false };

/** Creates a list of the costs in memory, because it is needed for every message; `reload` it after each change. */
export function createCostList(pool: Pool): Costs & { reload(): Promise<void> } {
  let table: PrefixTable<number> = prefixTable([]);
  let priced: ReadonlySet<number> = new Set();
  return {
    find(connectionId, destination, network = null) {
      if (!priced.has(connectionId)) return null;
      const number = numberForPrefix(destination);
      const ofNetwork = network === null ? undefined : table.find(groupOf(connectionId, network), number);
      return ofNetwork ?? table.find(groupOf(connectionId, null), number) ?? null;
    },
    isPriced: (connectionId) => priced.has(connectionId),
    async reload() {
      const costs = await listCosts(pool);
      priced = new Set(costs.map(({ connectionId }) => connectionId));
      table = prefixTable(
        costs.map(({ connectionId, network, prefix, unitMicros }) => ({
          group: groupOf(connectionId, network),
          prefix,
          value: unitMicros,
        })),
      );
    },
  };
}

const groupOf = (connectionId: number, network: string | null): string => `${connectionId}/${network ?? ''}`;
