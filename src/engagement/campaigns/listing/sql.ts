import { plainArray, textArray } from '../../../platform/db/array.ts';
import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, join, many, one, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { SendingMode } from '../mode.ts';
import { CAMPAIGN_ENTRY, CAMPAIGN_SOURCE, type CampaignEntry } from '../sql.ts';
import { CAMPAIGN } from '../states.ts';

/** Filter for listing campaigns of an account. An undefined filter matches all of them. */
export type CampaignFilter = {
  readonly accountId: number;
  readonly statuses?: readonly number[] | undefined;
  readonly isDraft?: boolean | undefined;
  /** Confirmed, with a scheduled time in the future. */
  readonly isProgrammed?: boolean | undefined;
  readonly sendingModes?: readonly SendingMode[] | undefined;
  /** A part of the name or description, in upper or lower case. */
  readonly search?: string | undefined;
  /** Created or scheduled at or after `from` and before `until`. */
  readonly window?: { readonly from: Date; readonly until: Date } | undefined;
  readonly readyToSend?: boolean | undefined;
};

const programmed = sql`(k.confirmed_at IS NOT NULL AND k.scheduled_at IS NOT NULL AND k.scheduled_at > now())`;

function matching({ accountId, window, search, sendingModes, statuses, ...is }: CampaignFilter): Sql {
  const draft = sql`(k.status = ${CAMPAIGN.DRAFT})`;
  const flags = [
    [is.isDraft, draft],
    [is.isProgrammed, programmed],
    [is.readyToSend, sql`k.ready_to_send`],
  ] as const;
  return join(
    [
      sql`k.account_id = ${accountId}`,
      ...flags.flatMap(([wanted, flag]) => (wanted === undefined ? [] : [sql`${flag} = ${wanted}`])),
      ...(statuses ? [sql`k.status = ANY(${plainArray(statuses)}::smallint[])`] : []),
      ...(sendingModes ? [sql`k.sending_mode = ANY(${textArray(sendingModes)}::text[])`] : []),
      ...(search === undefined ? [] : [sql`lower(k.name || E'\n' || k.description) LIKE ${containsPattern(search)}`]),
      ...(window ? [sql`(${within(sql`k.created_at`, window)} OR ${within(sql`k.scheduled_at`, window)})`] : []),
    ],
    ' AND ',
  );
}

const within = (column: Sql, { from, until }: NonNullable<CampaignFilter['window']>): Sql =>
  sql`${column} >= ${from} AND ${column} < ${until}`;

type Paging = { readonly limit: number; readonly offset: number; readonly descending: boolean };

/** Lists a page of the campaigns that match, in the order of their creation. */
export const listCampaigns = (
  db: Db,
  { filter, limit, offset, descending }: Paging & { filter: CampaignFilter },
): Promise<CampaignEntry[]> => {
  const direction = raw(descending ? 'DESC' : 'ASC');
  return many(
    db,
    sql`SELECT ${CAMPAIGN_ENTRY} ${CAMPAIGN_SOURCE} WHERE ${matching(filter)}
        ORDER BY k.created_at ${direction}, k.id ${direction} LIMIT ${limit} OFFSET ${offset}`,
  );
};

export async function countCampaigns(db: Db, { filter }: { filter: CampaignFilter }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM campaign k WHERE ${matching(filter)}`))
    .total;
}
