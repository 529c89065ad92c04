import { findBalance } from '../../money/credit/sql.ts';
import { type NetworkOf, NO_NETWORK } from '../../network/number-lookups/finder.ts';
import type { Db } from '../../platform/db/query.ts';
import { mapInSlices } from '../../platform/lib/background/slices.ts';
import type { Draft } from './draft.ts';
import { type Lookups, type Requester, routable, type Routable } from './prepare.ts';

type Deps = { readonly pool: Db; readonly tables: Lookups };

/**
 * Finds the networks of SMS destinations where a route or a cost depends on them. Waits for unknown ones, but no longer
 * than the time-out of the look-up service. Look-ups are paid, so only numbers are looked up whose messages would be
 * accepted if they had a route, and which the credit of the account covers.
 */
export async function findNetworks(
  { pool, tables }: Deps,
  actor: Pick<Requester, 'accountId' | 'numberRules'>,
  drafts: readonly Draft[],
  known: Parameters<typeof routable>[3],
): Promise<NetworkOf> {
  const { networks } = tables;
  if (!networks.isNeeded()) return NO_NETWORK;
  const examined = await mapInSlices(drafts, (draft) =>
    draft.channel === 'SMS' && !draft.simulation ? routable(actor, draft, tables, known) : null,
  );
  const messages = examined.filter((each) => each !== null);
  const { accountId } = actor;
  return networks.find(
    messages.map(({ destination }) => destination),
    {
      accountId,
      wait: true,
      async pickWorthy(numbers) {
        const covered = await coveredBy(pool, accountId, messages);
        return numbers.filter((number) => covered.has(number));
      },
    },
  );
}

/**
 * Returns the numbers of the messages that the available credit covers, one by one in order. It may be spent meanwhile.
 */
async function coveredBy(db: Db, accountId: number, messages: readonly Routable[]): Promise<ReadonlySet<string>> {
  const balance = await findBalance(db, { accountId });
  let left = balance?.unlimited ? Number.POSITIVE_INFINITY : (balance?.availableMicros ?? 0);
  const covered = new Set<string>();
  for (const { destination, priceMicros } of messages) {
    if (priceMicros > left) continue;
    left -= priceMicros;
    covered.add(destination);
  }
  return covered;
}
