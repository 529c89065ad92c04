import { containsPattern } from '../../platform/db/like.ts';
import { type Db, many, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const NAMED_CAMPAIGN = columns({
  id: as<number>('k.id'),
  name: as<string>('k.name'),
  createdAt: as<Date>('k.created_at'),
});
export type NamedCampaign = RowOf<typeof NAMED_CAMPAIGN>;

type Named = { readonly accountId: number; readonly text: string; readonly newest: number; readonly limit: number };

/** Lists campaigns whose name contains a text, in any case, newest first. It looks through the `newest` ones only. */
export const listNamedCampaigns = (db: Db, { accountId, text, newest, limit }: Named): Promise<NamedCampaign[]> =>
  many(
    db,
    sql`SELECT ${NAMED_CAMPAIGN}
        FROM (SELECT id, name, created_at FROM campaign
              WHERE account_id = ${accountId} ORDER BY created_at DESC, id DESC LIMIT ${newest}) AS k
        WHERE lower(k.name) LIKE ${containsPattern(text)}
        ORDER BY k.created_at DESC, k.id DESC LIMIT ${limit}`,
  );

/** Lists the campaign with this id: none or one. */
export const listCampaignById = (
  db: Db,
  { accountId, id }: { readonly accountId: number; readonly id: number },
): Promise<NamedCampaign[]> =>
  many(db, sql`SELECT ${NAMED_CAMPAIGN} FROM campaign k WHERE k.account_id = ${accountId} AND k.id = ${id}`);
