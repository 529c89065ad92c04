import type { Db } from '../../platform/db/query.ts';
import { prefixesIn } from '../../platform/lib/phone/mobile-countries.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { numberForPrefix } from '../../platform/lib/phone/user-id.ts';
import { type Cost, listCosts } from './sql.ts';

/**
 * Returns the charge of a connection's carrier for a number, in millionths: per part on SMS, per message elsewhere.
 * Null if not set. A cost for the network (MCC and MNC, such as 22201) goes before one for the prefix alone; then the
 * longest prefix decides. `destination` is E.164 with its plus, or the user id of a person on WhatsApp who shows no
 * number.
 */
export type FindCost = (connectionId: number, destination: string, network?: string | null) => number | null;

/** Look-up of the costs of connections. */
export type Costs = {
  readonly find: FindCost;
  /** Returns true if any cost is set for a connection: margins are kept for those alone. */
  isPriced(connectionId: number): boolean;
  /**
   * Returns true if the cost of a connection for a number, in E.164 with its plus, depends on the network of the
   * number.
   */
  dependsOnNetwork(connectionId: number, destination: string): boolean;
};

/** Costs of an installation where none is set. */
export const NO_COSTS: Costs = { find: () => null, isPriced: () => false, dependsOnNetwork: () => false };

/** Creates a list of the costs in memory, because it is needed for every message; `reload` it after each change. */
export function createCostList(db: Db): Costs & { reload(): Promise<void> } {
  let table: PrefixTable<number> = prefixTable([]);
  let byNetwork: PrefixTable<true> = prefixTable([]);
  let priced: ReadonlySet<number> = new Set();
  return {
    find(connectionId, destination, network = null) {
      if (!priced.has(connectionId)) return null;
      const number = numberForPrefix(destination);
      const ofNetwork = network === null ? undefined : table.find(groupOf(connectionId, network), number);
      return ofNetwork ?? table.find(groupOf(connectionId, null), number) ?? null;
    },
    isPriced: (connectionId) => priced.has(connectionId),
    dependsOnNetwork: (connectionId, destination) => byNetwork.find(`${connectionId}`, destination) === true,
    async reload() {
      const costs = await listCosts(db);
      priced = new Set(costs.map(({ connectionId }) => connectionId));
      table = prefixTable(
        costs.map(({ connectionId, network, prefix, unitMicros }) => ({
          group: groupOf(connectionId, network),
          prefix,
          value: unitMicros,
        })),
      );
      byNetwork = prefixTable(costs.flatMap(numbersInNetwork));
    },
  };
}

/**
 * Returns the numbers for which a cost of a network can count: a list by network alone is for the countries of its
 * networks.
 */
const numbersInNetwork = ({ connectionId, network, prefix }: Cost) =>
  network === null
    ? []
    : prefixesIn(network, prefix).map((own) => ({ group: `${connectionId}`, prefix: own, value: true as const }));

const groupOf = (connectionId: number, network: string | null): string => `${connectionId}/${network ?? ''}`;
