import { plainArray, textArray } from '../../../platform/db/array.ts';
import { inside } from '../../../platform/db/like.ts';
import { type Db, join, many, one, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { SendingMode } from '../mode.ts';
import { CAMPAIGN_ENTRIES, type CampaignEntry } from '../sql.ts';
import { CAMPAIGN } from '../states.ts';

/** Undefined filters let everything pass. */
export type CampaignFilter = {
  readonly accountId: number;
  readonly statuses?: readonly number[] | undefined;
  readonly isDraft?: boolean | undefined;
  /** Confirmed, and its time is still to come. */
  readonly isProgrammed?: boolean | undefined;
  readonly sendingModes?: readonly SendingMode[] | undefined;
  /** Part of name or description, in any case. */
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
      ...(search === undefined ? [] : [sql`lower(k.name || E'\n' || k.description) LIKE ${inside(search)}`]),
      ...(window ? [sql`(${within(sql`k.created_at`, window)} OR ${within(sql`k.scheduled_at`, window)})`] : []),
    ],
    ' AND ',
  );
}

const within = (column: Sql, { from, until }: NonNullable<CampaignFilter['window']>): Sql =>
  sql`${column} >= ${from} AND ${column} < ${until}`;

type Paging = { readonly limit: number; readonly offset: number; readonly descending: boolean };

/** By creation. */
export const listCampaigns = (
  db: Db,
  { filter, limit, offset, descending }: Paging & { filter: CampaignFilter },
): Promise<CampaignEntry[]> => {
  const direction = raw(descending ? 'DESC' : 'ASC');
  return many(
    db,
    sql`${CAMPAIGN_ENTRIES} WHERE ${matching(filter)}
        ORDER BY k.created_at ${direction}, k.id ${direction} LIMIT ${limit} OFFSET ${offset}`,
  );
};

export async function countCampaigns(db: Db, { filter }: { filter: CampaignFilter }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM campaign k WHERE ${matching(filter)}`))
    .total;
}
