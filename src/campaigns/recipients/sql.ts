import { type Db, join, many, one, type Sql, sql } from '../../db/query.ts';
import type { Channel } from '../../lib/channel.ts';
import { STATUS } from '../../messages/states.ts';

/** A message to a recipient. */
export type Attempt = {
  readonly id: string;
  readonly channel: Channel;
  /** As the specification has it: what is queued or accepted is 1 on SMS and 0 elsewhere. */
  readonly status: number;
  readonly read: boolean;
};

export type RecipientRow = {
  phoneNumber: string;
  country: string;
  contactId: number | null;
  skipReason: string | null;
  /** In the order in which they were made; the last one is the one that counts. */
  attempts: Attempt[];
};

/** Which recipients: all, those that nothing is sent to, those without a message yet, or by the status of their last one. */
export type Which = 'all' | 'skipped' | 'pending' | { readonly status: number };

export type RecipientsOf = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly which: Which;
  /** Its messages have ids from here on and below there: only those days are looked through. */
  readonly firstId: string;
  readonly endId: string;
};

type Paged = RecipientsOf & { readonly limit: number; readonly offset: number };

/**
 * A page of recipients with their messages, in the order of country and number.
 *
 * Of a first message only its batch is known, a range of up to 1,000 numbers: so those of whole batches are read. By
 * status all messages of the campaign are, which for a million takes some seconds.
 */
export const listRecipients = (db: Db, of: Paged): Promise<RecipientRow[]> => {
  const paging = sql`ORDER BY country, destination LIMIT ${of.limit} OFFSET ${of.offset}`;
  const early = isEarly(of.which);
  return many(
    db,
    sql`WITH page AS MATERIALIZED (${recipients(of)} ${early ? paging : sql``}), ${attempts(of, early)}
        SELECT p.destination AS "phoneNumber", p.country, p.contact_id AS "contactId", p.skip_reason AS "skipReason",
               coalesce(l.attempts, '[]') AS attempts
        FROM page p LEFT JOIN attempt l ON l.destination = p.destination
        ${early ? sql`` : sql`WHERE ${fits(of.which)}`}
        ORDER BY p.country, p.destination ${early ? sql`` : sql`LIMIT ${of.limit} OFFSET ${of.offset}`}`,
  );
};

export async function countRecipients(db: Db, of: RecipientsOf): Promise<number> {
  const rows = isEarly(of.which)
    ? sql`${recipients(of)}`
    : sql`WITH page AS MATERIALIZED (${recipients(of)}), ${attempts(of, false)}
          SELECT FROM page p LEFT JOIN attempt l ON l.destination = p.destination WHERE ${fits(of.which)}`;
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM (${rows}) AS q`)).total;
}

/** Whether a page can be cut before anything is known of the messages. */
const isEarly = (which: Which): boolean => which === 'all' || which === 'skipped';

const recipients = ({ accountId, campaignId, which }: RecipientsOf): Sql => sql`
  SELECT country, destination, contact_id, skip_reason FROM campaign_recipient
  WHERE account_id = ${accountId} AND campaign_id = ${campaignId}
    ${which === 'all' ? sql`` : which === 'skipped' ? sql`AND skip_reason IS NOT NULL` : sql`AND skip_reason IS NULL`}`;

/** Of message `m` with state `s`. */
const statusSql = sql`CASE WHEN s.status <> ${STATUS.ACCEPTED} THEN s.status
  WHEN m.channel = 'SMS' THEN ${STATUS.ACCEPTED} ELSE ${STATUS.UNKNOWN} END`;

/** Of each number of `page` its messages, `attempts`, and the `status` of the last one. */
function attempts({ accountId, campaignId, firstId, endId }: RecipientsOf, ofPage: boolean): Sql {
  const own = (alias: Sql): Sql => sql`${alias}.account_id = ${accountId} AND ${alias}.campaign_id = ${campaignId}`;
  const inPage = sql`AND EXISTS (SELECT FROM page p WHERE p.country = b.country
                                   AND p.destination BETWEEN b.first_destination AND b.last_destination)`;
  const ids = (alias: Sql): Sql => sql`${alias}.id >= ${firstId}::uuid AND ${alias}.id < ${endId}::uuid`;
  const parts = [
    sql`made AS MATERIALIZED (
      SELECT u.id, 0 AS hop FROM campaign_batch b, unnest(b.message_ids) AS u (id)
      WHERE ${own(sql`b`)} AND b.hop = 0 ${ofPage ? inPage : sql``}
      UNION ALL
      SELECT h.message_id, h.hop FROM campaign_hop h
      WHERE ${own(sql`h`)} AND h.destination IN (SELECT destination FROM page))`,
    sql`attempt AS MATERIALIZED (
      SELECT m.destination, (array_agg(${statusSql} ORDER BY made.hop DESC))[1] AS status,
             jsonb_agg(jsonb_build_object('id', m.id, 'channel', m.channel, 'status', ${statusSql},
                                          'read', s.read_at IS NOT NULL) ORDER BY made.hop) AS attempts
      FROM made
      JOIN message m ON m.account_id = ${accountId} AND m.id = made.id AND ${ids(sql`m`)}
      LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = made.id AND ${ids(sql`s`)}
      WHERE m.destination IN (SELECT destination FROM page)
      GROUP BY m.destination)`,
  ];
  return join(parts);
}

function fits(which: Which): Sql {
  if (typeof which === 'string') return which === 'pending' ? sql`l.destination IS NULL` : sql`true`;
  return sql`l.status = ${which.status}`;
}
