import { type Db, join, many, one, type Sql, sql } from '../../../platform/db/query.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import { STATUS } from '../../../messaging/states.ts';

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
  /** Whether a recipient may have several messages. */
  readonly combined: boolean;
  /** Its messages have ids from here on and below there: only those days are looked through. */
  readonly firstId: string;
  readonly endId: string;
};

type Paged = RecipientsOf & { readonly limit: number; readonly offset: number };

/**
 * A page of recipients with their messages, in the order of country and number.
 *
 * Of a first message only its batch is known, a range of up to 1,000 numbers: so those of whole batches are read. By
 * status the states of all its messages are, and in combined modes the messages too: 200,000 of them took 0.4 s the one
 * way and 3 s the other.
 */
export const listRecipients = (db: Db, of: Paged): Promise<RecipientRow[]> => {
  const limited = sql`LIMIT ${of.limit} OFFSET ${of.offset}`;
  const early = isEarly(of);
  return many(
    db,
    sql`WITH page AS MATERIALIZED (${recipients(of, early ? limited : sql``)}), ${attempts(of, early)}
        SELECT p.destination AS "phoneNumber", p.country, p.contact_id AS "contactId", p.skip_reason AS "skipReason",
               coalesce(l.attempts, '[]') AS attempts
        FROM page p LEFT JOIN attempt l ON l.destination = p.destination
        ${early ? sql`` : sql`WHERE ${fits(of.which)}`}
        ORDER BY p.country, p.destination ${early ? sql`` : limited}`,
  );
};

export async function countRecipients(db: Db, of: RecipientsOf): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM (${counted(of)}) AS q`)).total;
}

function counted(of: RecipientsOf): Sql {
  if (isEarly(of)) return typeof of.which === 'object' ? firstMessages(of, of.which.status) : recipients(of, sql``);
  return sql`WITH page AS MATERIALIZED (${recipients(of, sql``)}), ${attempts(of, false)}
             SELECT FROM page p LEFT JOIN attempt l ON l.destination = p.destination WHERE ${fits(of.which)}`;
}

/** Whether a page can be cut before anything is read of the messages themselves. */
const isEarly = ({ which, combined }: RecipientsOf): boolean => typeof which === 'string' || !combined;

/** `page`: those that are asked for, or more where that is not known yet, in their order as far as `limited`. */
function recipients(of: RecipientsOf, limited: Sql): Sql {
  const { which } = of;
  if (typeof which === 'object')
    return of.combined ? sql`${recipientsWhere(of, NOT_SKIPPED)}` : byStatus(of, which.status, limited);
  const ordered = sql`ORDER BY r.country, r.destination ${limited}`;
  if (which === 'all') return sql`${recipientsWhere(of, sql`true`)} ${ordered}`;
  return sql`${recipientsWhere(of, which === 'skipped' ? sql`r.skip_reason IS NOT NULL` : UNFED)} ${ordered}`;
}

const NOT_SKIPPED = sql`r.skip_reason IS NULL`;
/** Messages are made in the order of the numbers, country by country. */
const UNFED = sql`r.skip_reason IS NULL AND r.destination > coalesce(n.fed_to, '')`;

const recipientsWhere = ({ accountId, campaignId }: RecipientsOf, condition: Sql): Sql => sql`
  SELECT r.country, r.destination, r.contact_id, r.skip_reason FROM campaign_recipient r
  LEFT JOIN campaign_lane n ON n.account_id = ${accountId} AND n.campaign_id = ${campaignId} AND n.country = r.country
  WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND ${condition}`;

/** Recipients who have one message, by its status: only those of the page are looked up. */
const byStatus = (of: RecipientsOf, status: number, limited: Sql): Sql => sql`
  SELECT r.country, r.destination, r.contact_id, r.skip_reason
  FROM (${firstMessages(of, status)} ORDER BY b.country, b.first_destination, u.n ${limited}) AS hit
  JOIN message m ON m.account_id = ${of.accountId} AND m.id = hit.id AND ${within(of, sql`m`)}
  JOIN campaign_recipient r ON r.account_id = ${of.accountId} AND r.campaign_id = ${of.campaignId}
    AND r.country = hit.country AND r.destination = m.destination`;

/** Messages of the first channel by their status. In a batch they are in the order of their numbers. */
const firstMessages = (of: RecipientsOf, status: number): Sql => sql`
  SELECT b.country, u.id FROM campaign_batch b CROSS JOIN unnest(b.message_ids) WITH ORDINALITY AS u (id, n)
  LEFT JOIN message_state s ON s.account_id = ${of.accountId} AND s.id = u.id AND ${within(of, sql`s`)}
  WHERE b.account_id = ${of.accountId} AND b.campaign_id = ${of.campaignId} AND b.hop = 0
    AND ${statusOf(sql`b.channel = ${bitOf('SMS')}`)} = ${status}`;

const within = ({ firstId, endId }: RecipientsOf, alias: Sql): Sql =>
  sql`${alias}.id >= ${firstId}::uuid AND ${alias}.id < ${endId}::uuid`;

/** Of a message with state `s`. */
const statusOf = (isSms: Sql): Sql => sql`CASE WHEN s.status <> ${STATUS.ACCEPTED} THEN s.status
  WHEN ${isSms} THEN ${STATUS.ACCEPTED} ELSE ${STATUS.UNKNOWN} END`;
const STATUS_OF_M = statusOf(sql`m.channel = 'SMS'`);

/** Of each number of `page` its messages, `attempts`, and the `status` of the last one. */
function attempts(of: RecipientsOf, ofPage: boolean): Sql {
  const { accountId, campaignId } = of;
  const own = (alias: Sql): Sql => sql`${alias}.account_id = ${accountId} AND ${alias}.campaign_id = ${campaignId}`;
  const inPage = sql`AND EXISTS (SELECT FROM page p WHERE p.country = b.country
                                   AND p.destination BETWEEN b.first_destination AND b.last_destination)`;
  const parts = [
    sql`made AS MATERIALIZED (
      SELECT u.id, 0 AS hop FROM campaign_batch b, unnest(b.message_ids) AS u (id)
      WHERE ${own(sql`b`)} AND b.hop = 0 ${ofPage ? inPage : sql``}
      UNION ALL
      SELECT h.message_id, h.hop FROM campaign_hop h
      WHERE ${own(sql`h`)} AND h.destination IN (SELECT destination FROM page))`,
    sql`attempt AS MATERIALIZED (
      SELECT m.destination, (array_agg(${STATUS_OF_M} ORDER BY made.hop DESC))[1] AS status,
             jsonb_agg(jsonb_build_object('id', m.id, 'channel', m.channel, 'status', ${STATUS_OF_M},
                                          'read', s.read_at IS NOT NULL) ORDER BY made.hop) AS attempts
      FROM made
      JOIN message m ON m.account_id = ${accountId} AND m.id = made.id AND ${within(of, sql`m`)}
      LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = made.id AND ${within(of, sql`s`)}
      WHERE m.destination IN (SELECT destination FROM page)
      GROUP BY m.destination)`,
  ];
  return join(parts);
}

const fits = (which: Which): Sql => (typeof which === 'string' ? sql`true` : sql`l.status = ${which.status}`);
