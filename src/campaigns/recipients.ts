import { type Static, Type } from 'typebox';
import type { Author } from '../accounts/audit.ts';
import { findBook } from '../contacts/limits.ts';
import type { Actor } from '../core/actor.ts';
import { CHANNEL, CHANNELS, type Channel, toBits } from '../core/channels.ts';
import { as, columns, type Db, join, many, one, plainArray, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes } from '../core/db/transaction.ts';
import { type AppError, existing, invalidFields } from '../core/errors.ts';
import { firstIdAt } from '../core/ids.ts';
import { nameOfStatus, STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { channelName, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { NOT_TRIED } from '../messages/next-channel.ts';
import type { OptOutLinks } from '../messages/opt-out-links.ts';
import { showsAccepted } from '../messages/status.ts';
import { isCombined, type Plan, type RecipientRange, recipientsSql } from './audience.ts';
import { createCampaign, listUnreadable, loadPlan } from './create.ts';
import { holds } from './production-store.ts';
import { CampaignIn } from './schema.ts';
import { CAMPAIGN, type CampaignRow, findCampaign } from './store.ts';

type RecipientStatus = StatusName | 'PENDING' | 'SKIPPED';
const STATUSES: readonly RecipientStatus[] = ['PENDING', 'SKIPPED', ...STATUS_NAMES];

const Status = Type.Enum([...STATUSES], {
  type: 'string',
  description:
    'The status of the last message. PENDING: there is no message yet. SKIPPED: there will be none. DELETED: the message ' +
    'was withdrawn, or the campaign was cancelled before there was one.',
});

export const recipientFilterFields = { status: Type.Optional(Status) };

export const RecipientOut = Type.Object({
  phoneNumber: Type.String({
    description: 'E.164; as it was given if it is not valid; empty for a contact without a number.',
  }),
  country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the number belongs to no country.' }),
  contactId: orNull(Type.Integer()),
  name: orNull(
    Type.String({ description: 'The name of the contact. Null without the scope `contacts`, or if it is not known.' }),
  ),
  channel: Type.Union([channelName(), Type.Null()], {
    description: 'The channel of the last message.',
  }),
  status: Status,
  read: Type.Boolean(),
  messageIds: Type.Array(Type.String(), {
    description: 'The messages, in the order in which the channels were tried.',
  }),
  notTried: Type.Array(channelName(), {
    description: 'The channels that were abandoned because no carrier took the message within `fallback.maxWait`.',
  }),
  skipReason: orNull(
    Type.String({
      description:
        'invalid, unsupported, opted_out, text, no_route, no_price; later also reasons that came up since, and ' +
        'suspended: the account was suspended before there was a message.',
    }),
  ),
});

type Ended = Pick<CampaignRow, 'cancelledAt' | 'status'>;

/**
 * Returns true if recipients without a message got none because the account was suspended before the start: nothing
 * else ends a campaign while there are such recipients, except for a cancellation.
 */
const isLeftOut = ({ cancelledAt, status }: Ended): boolean =>
  cancelledAt === null && (status === CAMPAIGN.FAILED || status === CAMPAIGN.COMPLETED);

const SUSPENDED = 'suspended';

/** Converts a recipient to its form in the API. In a cancelled campaign those without a message get none. */
export function toRecipientOut(
  { attempts, ...row }: RecipientRow,
  campaign: Ended,
  { operations }: Pick<Actor, 'operations'>,
): Static<typeof RecipientOut> {
  const last = attempts.at(-1);
  const skipReason = row.skipReason ?? (last === undefined && isLeftOut(campaign) ? SUSPENDED : null);
  const withoutMessage = skipReason !== null ? 'SKIPPED' : campaign.cancelledAt === null ? 'PENDING' : 'DELETED';
  return {
    ...row,
    name: operations.has('contacts') ? row.name : null,
    channel: last?.channel ?? null,
    status: last ? nameOfStatus(last.status) : withoutMessage,
    read: attempts.some(({ read }) => read),
    messageIds: attempts.map(({ id }) => id),
    notTried: attempts.flatMap(({ channel, notTried }) => (notTried ? [channel] : [])),
    skipReason,
  };
}

const MAX_NUMBERS = 100_000;
const MAX_MINUTES = 2;

/**
 * Final states after which the person was not reached and another message makes sense. UNKNOWN is excluded: the message
 * may have arrived.
 */
export const FAILURES = [
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] as const;

export const AgainIn = Type.Object({
  name: CampaignIn.properties.name,
  statuses: Type.Optional(
    Type.Array(Type.Enum([...FAILURES], { type: 'string' }), {
      minItems: 1,
      maxItems: FAILURES.length,
      description: 'Only recipients whose last message has one of these final statuses; by default all of these.',
    }),
  ),
});

type Input = Static<typeof AgainIn> & { readonly id: number; readonly now: Date };

/**
 * Makes a draft with the settings of a campaign for those of its recipients whom it did not reach, and returns its id.
 * Recipients to whom any message was delivered are excluded. Call it in a transaction. Errors: 400 when there are no
 * such recipients or more than 100,000, or when the settings are no longer allowed; 404.
 */
export async function repeatCampaign(
  tx: Db,
  actor: Author,
  { id, name, statuses = [...FAILURES], now }: Input,
): Promise<{ id: number }> {
  const { accountId } = actor;
  const campaign = await existing(findCampaign(tx, { accountId, id }));
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const { confirmedAt, completedAt } = campaign;
  const numbers = confirmedAt
    ? await listNumbersByStatus(tx, {
        accountId,
        campaignId: id,
        statuses: statuses.map((status) => STATUS[status]),
        limit: MAX_NUMBERS + 1,
        // A day more on both sides, since each machine that creates ids has its own clock.
        firstId: firstIdAt(new Date(confirmedAt.getTime() - DAY_MS)),
        endId: firstIdAt(new Date((completedAt ?? now).getTime() + DAY_MS)),
      })
    : [];
  if (numbers.length === 0) throw refused('the campaign has no recipients that it did not reach');
  if (numbers.length > MAX_NUMBERS) throw refused(`there are more than ${MAX_NUMBERS} such recipients`);
  const body = { ...settingsOf(campaign), name, destinations: numbers, readyToSend: false };
  return createCampaign(tx, actor, body, { now });
}

const refused = (message: string): AppError => invalidFields([{ field: 'statuses', message }]);

/** Returns the settings that a new campaign takes over. */
function settingsOf(from: CampaignRow) {
  const { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType } = from;
  const { whatsappPhoneNumberId, whatsappTemplateId, fallback, quietHours, rate } = from;
  const { purpose, respectCalendar, weeklyCap, encoding, tlvs } = from;
  const texts = { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType };
  return {
    ...texts,
    whatsappPhoneNumberId,
    whatsappTemplateId,
    fallback,
    quietHours,
    rate,
    purpose,
    respectCalendar,
    weeklyCap,
    encoding,
    tlvs,
  };
}

type FindInput = OptOutLinks & {
  readonly accountId: number;
  readonly campaign: CampaignRow;
  readonly status: RecipientStatus | undefined;
  readonly now: Date;
  readonly limit: number;
  readonly offset: number;
};

/** Finds a page of a campaign's recipients and their total; before it is confirmed, those of its audience. */
export async function findRecipients(db: Db, input: FindInput): Promise<{ rows: RecipientRow[]; total: number }> {
  const { accountId, campaign, status, now, limit, offset } = input;
  const { run, audience, confirmedAt, completedAt } = campaign;
  if (!confirmedAt) return findBeforehand(db, input);
  if (!run) return { rows: [], total: 0 };
  const of: RecipientsOf = {
    accountId,
    campaignId: campaign.id,
    which: whichOf(status),
    combined: isCombined(campaign.sendingMode),
    cancelled: campaign.cancelledAt !== null,
    suspended: isLeftOut(campaign),
    // A day more on both sides, since each machine that creates ids has its own clock.
    firstId: firstIdAt(new Date(confirmedAt.getTime() - DAY_MS)),
    endId: firstIdAt(new Date((completedAt ?? now).getTime() + DAY_MS)),
  };
  const counted = of.which === 'all' ? run.recipients - (audience?.unlisted ?? 0) : countRecipients(db, of);
  const [rows, total] = await Promise.all([listRecipients(db, { ...of, limit, offset }), counted]);
  return { rows, total };
}

/** Finds recipients before the confirmation: none has a message then. */
async function findBeforehand(
  db: Db,
  { status, ...input }: FindInput,
): Promise<{ rows: RecipientRow[]; total: number }> {
  const which = whichOf(status);
  return typeof which === 'string' ? findPlanned(db, { ...input, which }) : { rows: [], total: 0 };
}

function whichOf(status: RecipientStatus | undefined): Which {
  if (status === undefined) return 'all';
  if (status === 'SKIPPED') return 'skipped';
  return status === 'PENDING' ? 'pending' : { status: STATUS[status] };
}

type PlannedInput = OptOutLinks & {
  readonly accountId: number;
  readonly campaign: CampaignRow;
  readonly which: PlannedWhich;
  readonly limit: number;
  readonly offset: number;
};

/**
 * Finds a page of those whom an unconfirmed campaign would reach or skip, and their total: as its audience counted them,
 * and none while that is stale. Numbers come first, then contacts without a number and texts that are not a number at
 * all.
 */
async function findPlanned(db: Db, input: PlannedInput): Promise<{ rows: RecipientRow[]; total: number }> {
  const { accountId, campaign, which, limit, offset, optOutLink } = input;
  const { audience, audienceFresh } = campaign;
  if (!audience || !audienceFresh) return { rows: [], total: 0 };
  const total =
    which === 'pending'
      ? audience.total
      : which === 'skipped'
        ? audience.skippedTotal
        : audience.total + audience.skippedTotal;
  const numbers = total - (which === 'pending' ? 0 : audience.unlisted);
  const plan = await loadPlan(db, { accountId, campaign, optOutLink });
  // The first pages of all are found without a pass over the whole audience.
  const isEarly = which === 'all' && offset + limit <= numbers;
  const range = isEarly ? { after: null, limit: offset + limit } : null;
  const rows = await listPlanned(db, { plan, range, which, limit, offset });
  if (which === 'pending' || campaign.destinationType !== 2 || offset + limit <= numbers) return { rows, total };
  const book = await findBook(db, { accountId });
  const unreadable = await listUnreadable(campaign.destinations, book ?? DEFAULT_NUMBER_RULES);
  const from = Math.max(0, offset - numbers);
  return { rows: [...rows, ...unreadable.slice(from, from + limit - rows.length).map(toUnreadable)], total };
}

const toUnreadable = (phoneNumber: string): RecipientRow => ({
  phoneNumber,
  country: '',
  contactId: null,
  name: null,
  skipReason: 'invalid',
  attempts: [],
});

type Attempt = {
  readonly id: string;
  readonly channel: Channel;
  /** The status of the specification: a queued or accepted message has 1 on SMS and 0 on other channels. */
  readonly status: number;
  readonly read: boolean;
  /** True if no carrier took it within `fallback.maxWait`. */
  readonly notTried: boolean;
};

const RECIPIENT = columns({
  phoneNumber: as<string>('p.destination'),
  country: as<string>('p.country'),
  contactId: as<number | null>('p.contact_id'),
  /** The name of the contact; null if it is not known. */
  name: as<string | null>("nullif(c.full_name, '')"),
  skipReason: as<string | null>('p.skip_reason'),
  /** The messages in the order in which they were created; the last one decides the status. */
  attempts: as<Attempt[]>("coalesce(l.attempts, '[]')"),
});

type RecipientRow = RowOf<typeof RECIPIENT>;

/**
 * Filter for recipients: all, the skipped ones, those without a message yet, or those whose last message has a status.
 */
type Which = 'all' | 'skipped' | 'pending' | { readonly status: number };

type RecipientsOf = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly which: Which;
  /** True if a recipient may have several messages. */
  readonly combined: boolean;
  /** True if recipients without a message get none: their status is DELETED. */
  readonly cancelled: boolean;
  /** True if recipients without a message get none because the account was suspended: they are skipped. */
  readonly suspended: boolean;
  /** The messages of the campaign have ids from this one on: only the partitions of those days are searched. */
  readonly firstId: string;
  /** The messages of the campaign have ids below this one. */
  readonly endId: string;
};

type Paged = RecipientsOf & { readonly limit: number; readonly offset: number };

/**
 * Lists a page of recipients with their messages, in the order of country and number.
 *
 * Only the batch of a first message is known, a range of up to 1,000 numbers, so the messages of whole batches are
 * read. To select by status, the states of all messages of the campaign are read, and in combined modes the messages
 * too: for 200,000 messages this took 0.4 s with a single channel and 3 s in a combined mode.
 */
const listRecipients = (db: Db, of: Paged): Promise<RecipientRow[]> => {
  const limited = sql`LIMIT ${of.limit} OFFSET ${of.offset}`;
  const early = isEarly(of);
  return many(
    db,
    sql`WITH page AS MATERIALIZED (${recipients(of, early ? limited : sql``)}), ${attempts(of, early)}
        SELECT ${RECIPIENT}
        FROM page p LEFT JOIN attempt l ON l.destination = p.destination
        LEFT JOIN contact c ON c.account_id = ${of.accountId} AND c.id = p.contact_id
        ${early ? sql`` : sql`WHERE ${fits(of)}`}
        ORDER BY p.country, p.destination ${early ? sql`` : limited}`,
  );
};

async function countRecipients(db: Db, of: RecipientsOf): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM (${counted(of)}) AS q`)).total;
}

function counted(of: RecipientsOf): Sql {
  if (isEarly(of)) return typeof of.which === 'object' ? firstMessages(of, of.which.status) : recipients(of, sql``);
  return sql`WITH page AS MATERIALIZED (${recipients(of, sql``)}), ${attempts(of, false)}
             SELECT FROM page p LEFT JOIN attempt l ON l.destination = p.destination WHERE ${fits(of)}`;
}

/** Returns true if a page can be cut before the messages are read. */
const isEarly = (of: RecipientsOf): boolean => typeof of.which === 'string' || !readsAll(of);

/** Returns true if a status is found only by reading the recipients with all their messages. */
const readsAll = ({ which, combined, cancelled }: RecipientsOf): boolean =>
  combined || (cancelled && typeof which === 'object' && which.status === STATUS.DELETED);

/**
 * The table `page`: the requested recipients, or more of them if their status is not known yet. They are in order if
 * `limited` cuts the page.
 */
function recipients(of: RecipientsOf, limited: Sql): Sql {
  const { which } = of;
  if (typeof which === 'object')
    return readsAll(of) ? sql`${recipientsWhere(of, NOT_SKIPPED)}` : byStatus(of, which.status, limited);
  const ordered = sql`ORDER BY r.country, r.destination ${limited}`;
  if (which === 'all') return sql`${recipientsWhere(of, sql`true`)} ${ordered}`;
  return sql`${recipientsWhere(of, which === 'skipped' ? skipped(of) : pending(of))} ${ordered}`;
}

const NOT_SKIPPED = sql`r.skip_reason IS NULL`;
/** True if no message was created yet: they are created in the order of the numbers, country by country. */
const PENDING = sql`r.skip_reason IS NULL AND r.destination > coalesce(n.fed_to, '')`;
const SKIPPED = sql`r.skip_reason IS NOT NULL`;

const skipped = ({ suspended }: RecipientsOf): Sql => (suspended ? sql`(${SKIPPED} OR ${PENDING})` : SKIPPED);
const pending = ({ cancelled, suspended }: RecipientsOf): Sql => (cancelled || suspended ? sql`false` : PENDING);

const recipientsWhere = ({ accountId, campaignId }: RecipientsOf, condition: Sql): Sql => sql`
  SELECT r.country, r.destination, r.contact_id, r.skip_reason FROM campaign_recipient r
  LEFT JOIN campaign_lane n ON n.account_id = ${accountId} AND n.campaign_id = ${campaignId} AND n.country = r.country
    AND ${holds(sql`n`, sql`r.destination`)}
  WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND ${condition}`;

/** Recipients of single modes by the status of their message: only those of the page are looked up. */
const byStatus = (of: RecipientsOf, status: number, limited: Sql): Sql => sql`
  SELECT r.country, r.destination, r.contact_id, r.skip_reason
  FROM (${firstMessages(of, status)} ORDER BY b.country, b.first_destination, u.n ${limited}) AS hit
  JOIN message m ON m.account_id = ${of.accountId} AND m.id = hit.id AND ${within(of, sql`m`)}
  JOIN campaign_recipient r ON r.account_id = ${of.accountId} AND r.campaign_id = ${of.campaignId}
    AND r.country = hit.country AND r.destination = m.destination`;

const SHOWN_AS_ACCEPTED = toBits(CHANNELS.filter((channel) => CHANNEL[channel].showsAccepted));

/** Messages of the first channel by their status. Within a batch they are in the order of their numbers. */
const firstMessages = (of: RecipientsOf, status: number): Sql => sql`
  SELECT b.country, u.id FROM campaign_batch b CROSS JOIN unnest(b.message_ids) WITH ORDINALITY AS u (id, n)
  LEFT JOIN message_state s ON s.account_id = ${of.accountId} AND s.id = u.id AND ${within(of, sql`s`)}
  WHERE b.account_id = ${of.accountId} AND b.campaign_id = ${of.campaignId} AND b.fallback_number = 0
    AND ${statusOf(sql`b.channel & ${SHOWN_AS_ACCEPTED} <> 0`)} = ${status}`;

const within = ({ firstId, endId }: RecipientsOf, alias: Sql): Sql =>
  sql`${alias}.id >= ${firstId}::uuid AND ${alias}.id < ${endId}::uuid`;

/** Returns the status of a message with state `s`, as the specification defines it. */
const statusOf = (accepted: Sql): Sql => sql`CASE WHEN s.status <> ${STATUS.ACCEPTED} THEN s.status
  WHEN ${accepted} THEN ${STATUS.ACCEPTED} ELSE ${STATUS.UNKNOWN} END`;
const STATUS_OF_M = statusOf(showsAccepted(sql`m.channel`));

/** The table `attempt`: for each number of `page` its messages (`attempts`) and the `status` of the last one. */
function attempts(of: RecipientsOf, ofPage: boolean): Sql {
  const { accountId, campaignId } = of;
  const own = (alias: Sql): Sql => sql`${alias}.account_id = ${accountId} AND ${alias}.campaign_id = ${campaignId}`;
  const inPage = sql`AND EXISTS (SELECT FROM page p WHERE p.country = b.country
                                   AND p.destination BETWEEN b.first_destination AND b.last_destination)`;
  const parts = [
    sql`made AS MATERIALIZED (
      SELECT u.id, 0 AS fallback_number FROM campaign_batch b, unnest(b.message_ids) AS u (id)
      WHERE ${own(sql`b`)} AND b.fallback_number = 0 ${ofPage ? inPage : sql``}
      UNION ALL
      SELECT h.message_id, h.fallback_number FROM campaign_fallback h
      WHERE ${own(sql`h`)} AND h.destination IN (SELECT destination FROM page))`,
    sql`attempt AS MATERIALIZED (
      SELECT m.destination, (array_agg(${STATUS_OF_M} ORDER BY made.fallback_number DESC))[1] AS status,
             jsonb_agg(jsonb_build_object('id', m.id, 'channel', m.channel, 'status', ${STATUS_OF_M},
                                          'read', s.read_at IS NOT NULL,
                                          'notTried', s.error_code IS NOT DISTINCT FROM ${NOT_TRIED}) ORDER BY made.fallback_number) AS attempts
      FROM made
      JOIN message m ON m.account_id = ${accountId} AND m.id = made.id AND ${within(of, sql`m`)}
      LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = made.id AND ${within(of, sql`s`)}
      WHERE m.destination IN (SELECT destination FROM page)
      GROUP BY m.destination)`,
  ];
  return join(parts);
}

const fits = ({ which, cancelled }: RecipientsOf): Sql => {
  if (typeof which === 'string') return sql`true`;
  return cancelled ? sql`coalesce(l.status, ${STATUS.DELETED}) = ${which.status}` : sql`l.status = ${which.status}`;
};

type ByStatus = Pick<RecipientsOf, 'accountId' | 'campaignId' | 'firstId' | 'endId'> & {
  readonly statuses: readonly number[];
  readonly limit: number;
};

/**
 * Lists the numbers of recipients whose last message has one of these statuses and to whom none was delivered, in the
 * order of country and number. All messages of the campaign are read, so it is for explicit requests, not for a page.
 */
const listNumbersByStatus = async (db: Db, { statuses, limit, ...own }: ByStatus): Promise<string[]> => {
  const of: RecipientsOf = { ...own, which: 'all', combined: true, cancelled: false, suspended: false };
  const rows = await many<{ number: string }>(
    db,
    sql`WITH page AS MATERIALIZED (${recipientsWhere(of, NOT_SKIPPED)}), ${attempts(of, false)}
        SELECT p.destination AS number FROM page p JOIN attempt l ON l.destination = p.destination
        WHERE l.status = ANY(${plainArray(statuses)}::smallint[])
          AND NOT l.attempts @> ${JSON.stringify([{ status: STATUS.DELIVERED }])}::jsonb
        ORDER BY p.country, p.destination LIMIT ${limit}`,
  );
  return rows.map(({ number }) => number);
};

/**
 * Filter for the planned recipients of a campaign: all, those who would get nothing, or those who would get something.
 */
type PlannedWhich = 'all' | 'skipped' | 'pending';

const PLANNED = columns({
  phoneNumber: as<string>("coalesce(r.destination, '')"),
  country: as<string>('r.country'),
  contactId: as<number | null>('r.contact_id'),
  name: as<string | null>("nullif(c.full_name, '')"),
  skipReason: as<string | null>('r.skip_reason'),
  attempts: as<Attempt[]>("'[]'::jsonb"),
});

/**
 * Lists a page of the planned recipients of a campaign, in the order of their numbers; contacts without a number come
 * last. With a `range`, only that part of the numbers is examined.
 */
const listPlanned = (
  db: Db,
  page: { plan: Plan; range: RecipientRange | null; which: PlannedWhich; limit: number; offset: number },
): Promise<RecipientRow[]> => {
  const wanted = { all: sql`true`, skipped: sql`r.skip_reason IS NOT NULL`, pending: sql`r.skip_reason IS NULL` };
  return many(
    db,
    sql`SELECT ${PLANNED} FROM (${recipientsSql(page.plan, page.range)}) AS r
        LEFT JOIN contact c ON c.account_id = ${page.plan.accountId} AND c.id = r.contact_id WHERE ${wanted[page.which]}
        ORDER BY r.destination, r.contact_id LIMIT ${page.limit} OFFSET ${page.offset}`,
  );
};
