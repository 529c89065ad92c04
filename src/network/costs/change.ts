import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../platform/errors.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { connectionNamed } from '../connections/find.ts';
import { notifyRoutingChange } from '../connections/sql.ts';
import type { ListedCost } from './read-cost-file.ts';
import { deleteCost, deleteCostsOf, insertCosts } from './sql.ts';

type Place = {
  /** Name of the connection. */
  readonly connection: string;
  /** Leading digits without the plus; empty for all numbers. */
  readonly prefix: string;
  /** MCC and MNC, such as 22201; null for any network. */
  readonly network: string | null;
};

type By = { readonly by: string };

export type CostInput = Place & {
  /** Currency units: per part on SMS, per message elsewhere. */
  readonly price: number;
};

/**
 * Sets the charge of a connection's carrier for a prefix, in one network or in any; running processes follow
 * immediately. Call it in a transaction. Errors: 400 naming the invalid fields, 404 for the connection.
 */
export async function setCost(tx: Db, { by, ...input }: CostInput & By): Promise<void> {
  const { connection, price, ...place } = input;
  const unitMicros = toMicros(price);
  const isPrice = unitMicros !== null && unitMicros >= 0;
  const errors = [...(isPrice ? [] : [BAD_PRICE]), ...faultsOf(place)];
  if (errors.length > 0 || unitMicros === null) throw invalidFields(errors);
  const { id: connectionId } = await connectionNamed(tx, connection);
  await insertCosts(tx, { costs: [{ connectionId, ...place, unitMicros }] });
  await record(tx, { by, action: 'cost.set', connection, detail: { ...place, price } });
}

const BAD_PRICE = { field: 'price', message: 'must be an amount from 0 with at most 6 decimals' };

function faultsOf({ prefix, network }: Omit<Place, 'connection'>): FieldError[] {
  return [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(network === null || /^\d{5,6}$/.test(network)
      ? []
      : [{ field: 'network', message: 'must be MCC and MNC: 5 or 6 digits, such as 22201' }]),
  ];
}

/** Removes the cost of a place. Call it in a transaction. Errors: 404. */
export async function removeCost(tx: Db, { by, connection, ...place }: Place & By): Promise<void> {
  const { id: connectionId } = await connectionNamed(tx, connection);
  if ((await deleteCost(tx, { connectionId, ...place })) === 0)
    throw new AppError('not_found', { message: 'There is no such cost' });
  await record(tx, { by, action: 'cost.remove', connection, detail: place });
}

export type CostImport = {
  readonly connection: string;
  /** True if the list is complete: costs that are not in it are removed. */
  readonly replace: boolean;
  readonly costs: readonly ListedCost[];
};

/**
 * Imports the price list of a carrier: its costs are set, and with `replace` all others of the connection removed. Call
 * it in a transaction. Returns how many costs were set, and how many previous ones were removed or replaced by
 * `replace`. Errors: 404 for the connection.
 */
export async function importCosts(
  tx: Db,
  { by, connection, replace, costs }: CostImport & By,
): Promise<{ set: number; removed: number }> {
  const { id: connectionId } = await connectionNamed(tx, connection);
  const removed = replace ? await deleteCostsOf(tx, { connectionId }) : 0;
  await insertCosts(tx, { costs: costs.map((cost) => ({ connectionId, ...cost })) });
  const counts = { set: costs.length, removed };
  await record(tx, { by, action: 'cost.import', connection, detail: counts });
  return counts;
}

type Change = By & { readonly action: string; readonly connection: string; readonly detail: object };

async function record(tx: Db, { by, action, connection, detail }: Change): Promise<void> {
  const subject = `connection:${connection}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject, detail: { ...detail } });
  await notifyRoutingChange(tx);
}
