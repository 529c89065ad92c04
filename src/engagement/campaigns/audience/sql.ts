import { countParts } from '../../../carriers/smpp/text.ts';
import { plainArray, textArray } from '../../../platform/db/array.ts';
import { bigint, boolean, rowsOf, text } from '../../../platform/db/columns.ts';
import { type Db, join, many, raw, type Sql, sql } from '../../../platform/db/query.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import type { Price } from '../../../money/pricing/sql.ts';
import { bitsOf, chainOf, type SendingMode } from '../mode.ts';
import { fixedText, leastText, type Piece } from '../text/parse.ts';
import { renderSql } from '../text/sql.ts';

/** Why nothing is sent to a candidate, in the order in which it is looked for. */
export const SKIP_REASONS = ['invalid', 'unsupported', 'opted_out', 'text', 'no_route', 'no_price'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Whom a campaign is for and what it sends, as far as it decides who gets it and at what price. */
export type Plan = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly mode: SendingMode;
  /** Null: the numbers of the campaign. */
  readonly listIds: readonly number[] | null;
  /** In place of its lists and numbers, of a campaign that is not saved: these contacts or numbers. */
  readonly named?: { readonly contactIds: readonly number[] } | { readonly numbers: NamedNumbers } | undefined;
  /** Null: the mode has no SMS. */
  readonly pieces: readonly Piece[] | null;
  /**
   * How the next candidates are found among the lists: along all numbers of the account, or by sorting the members each
   * time, which is less for short lists in a large account.
   */
  readonly walk: boolean;
  /** Those that are in force for it: the list as it is for a goal, as it was for what is confirmed. */
  readonly prices: readonly PlanPrice[];
};

/** Valid numbers, each once and sorted, with what their plans say of them. */
export type NamedNumbers = {
  readonly numbers: readonly string[];
  readonly countries: readonly string[];
  readonly channels: readonly number[];
};

export type PlanPrice = Pick<Price, 'channel' | 'prefix' | 'unitMicros' | 'refundUndelivered'>;

/** The next candidates behind a number. */
export type RecipientRange = { readonly after: string | null; readonly limit: number };

/** As in src/messaging/sending/prepare.ts. */
const MOST_PARTS = 10;
/** Septets of a text of one part. */
const ONE_PART = 160;

/**
 * A SELECT of `country, destination, contact_id, channels, sms_parts, reserve_micros, skip_reason`: whom a campaign is
 * for, one row a number in the order of the numbers, those who get nothing included (`channels` 0, with the reason).
 * `channels` are the bits that may be tried: of the mode, supported, not opted out of, with a route and a price.
 * `reserve_micros` is the most that trying them in turn can cost. No row: there is nobody behind `after`.
 */
export const recipientsSql = (plan: Plan, range: RecipientRange | null): Sql => sql`
  WITH price_list AS MATERIALIZED (${priceList(plan)}),
       candidate AS MATERIALIZED (${candidates(plan, range)}), ${tariff(plan)}
  SELECT c.country, c.destination, c.contact_id, f.channels, c.parts AS sms_parts, f.reserve AS reserve_micros,
         f.reason AS skip_reason
  FROM candidate c JOIN tariff t ON t.prefix = c.prefix ${findingSql(plan)}
  ORDER BY c.destination`;

/** Candidates who are alike in all that decides their price. */
export type GoalRow = {
  country: string;
  parts: number;
  channels: number;
  reason: SkipReason | null;
  /** Contacts without any number. */
  numberless: boolean;
  count: number;
  /** Of each channel in the order of the mode: its unit price, and what one recipient's reserve holds for it. */
  unitMicros: (number | null)[];
  shareMicros: number[];
};

/** All candidates of a campaign in one pass, counted by what decides their price. */
export const listGoalRows = (db: Db, plan: Plan): Promise<GoalRow[]> =>
  many(
    db,
    sql`WITH price_list AS MATERIALIZED (${priceList(plan)}),
        candidate AS MATERIALIZED (
          SELECT country, prefix, parts, able, reason, destination IS NULL AS numberless, count(*) AS count
          FROM (${candidates(plan, null)}) AS q GROUP BY country, prefix, parts, able, reason, numberless),
        ${tariff(plan)}
        SELECT c.country, c.parts, f.channels, f.reason, c.numberless, sum(c.count)::bigint AS count,
               f.units AS "unitMicros", f.shares AS "shareMicros"
        FROM candidate c JOIN tariff t ON t.prefix = c.prefix ${findingSql(plan)}
        GROUP BY c.country, c.parts, f.channels, f.reason, c.numberless, f.units, f.shares
        ORDER BY c.country, c.parts, f.channels`,
  );

/**
 * `country, destination, prefix, contact_id, parts, able, reason`. `prefix`: as much of the number as any price or route
 * looks at. `able`: bits of the mode that are supported and not opted out of. `parts` 0: the text is empty.
 */
function candidates(plan: Plan, range: RecipientRange | null): Sql {
  const chain = chainOf(plan.mode);
  const supported = sql`(c.channels & ${bitsOf(plan.mode)}::int)`;
  const refused = join(
    chain.map((channel) => sql`CASE WHEN ${of('o', channel)}.channel IS NULL THEN 0 ELSE ${bit(channel)} END`),
    ' | ',
  );
  return sql`
    SELECT c.country, c.destination, coalesce(left(c.destination, 1 + ${longestPrefix(chain)}), '') AS prefix,
           c.contact_id, ${partsSql(plan)} AS parts, ${supported} & ~(${refused}) AS able,
           CASE WHEN c.destination IS NULL OR NOT c.is_valid THEN 'invalid' WHEN ${supported} = 0 THEN 'unsupported'
                WHEN ${supported} & ~(${refused}) = 0 THEN 'opted_out' END AS reason
    FROM (${sourceOf(plan, range)}) AS c
    ${join(
      chain.map((channel) => optOutsOf(plan.accountId, channel, range)),
      ' ',
    )}`;
}

/** Numbers and bits of channels are no input: as values they would be parameters of unknown type. */
const bit = (channel: Channel): Sql => raw(String(bitOf(channel)));
/** The alias or column that belongs to a channel. */
const of = (name: string, channel: Channel): Sql => raw(`${name}${channel.toLowerCase()}`);

const CONTACT = sql`c.id AS contact_id, c.full_name, c.first_name, c.last_name, c.gender, c.email, c.custom_fields`;

function sourceOf(plan: Plan, range: RecipientRange | null): Sql {
  const { accountId, listIds, named } = plan;
  if (named && 'contactIds' in named)
    return sql`${contacts(accountId)} AND c.id = ANY(${plainArray(named.contactIds)}::bigint[])`;
  if (named || listIds === null) return numbers(plan, range);
  return sql`${contacts(accountId)} AND ${isMember(plan, listIds, range)}`;
}

/** In the order of bytes, in which `numbers` is sorted; all other columns with numbers have the usual collation. */
function numbers(plan: Plan, range: RecipientRange | null): Sql {
  const { accountId } = plan;
  const next = range ? sql`AND u.number > ${range.after ?? ''} ORDER BY u.number LIMIT ${range.limit}` : sql``;
  return sql`
    SELECT n.number AS destination, n.country, coalesce(c.is_valid, true) AS is_valid,
           coalesce(c.channels, n.channels) AS channels, ${CONTACT}
    FROM (SELECT u.number COLLATE "default" AS number, u.country, u.channels
          FROM ${numbersOf(plan)} ${next}) AS n
    LEFT JOIN contact c ON c.account_id = ${accountId} AND c.phone_number = n.number`;
}

/** Rows `u`, and a condition behind them. */
function numbersOf({ accountId, campaignId, named }: Plan): Sql {
  if (!named || !('numbers' in named))
    return sql`campaign k, unnest(k.numbers, k.number_countries, k.number_channels) AS u (number, country, channels)
          WHERE k.account_id = ${accountId} AND k.id = ${campaignId}`;
  const { numbers: all, countries, channels } = named.numbers;
  return sql`unnest(${plainArray(all)}::text[] COLLATE "C", ${textArray(countries)}::text[],
            ${plainArray(channels)}::smallint[]) AS u (number, country, channels) WHERE true`;
}

const contacts = (accountId: number): Sql => sql`
    SELECT c.phone_number AS destination, coalesce(c.country, '') AS country, c.is_valid, c.channels, ${CONTACT}
    FROM contact c WHERE c.account_id = ${accountId}`;

/**
 * The whole pass leaves the way to the planner. The next ones of a range must come the same way each time, whatever the
 * statistics say: one plan that sorts a million members for every 5,000 of them is slower a hundred times.
 */
function isMember({ accountId, walk }: Plan, listIds: readonly number[], range: RecipientRange | null): Sql {
  const inLists = sql`m.account_id = ${accountId} AND m.list_id = ANY(${plainArray(listIds)}::bigint[])`;
  if (!range) return sql`c.id IN (SELECT m.contact_id FROM contact_list_member m WHERE ${inLists})`;
  const next = sql`c.phone_number > ${range.after ?? ''}`;
  const limit = sql`ORDER BY c.phone_number LIMIT ${range.limit}`;
  return walk
    ? sql`${next} AND (SELECT true FROM contact_list_member m WHERE ${inLists} AND m.contact_id = c.id LIMIT 1) ${limit}`
    : sql`${next} AND c.id = ANY(ARRAY(SELECT m.contact_id FROM contact_list_member m WHERE ${inLists})) ${limit}`;
}

function partsSql({ pieces }: Plan): Sql {
  if (pieces === null) return sql`1`;
  const fixed = fixedText(pieces);
  if (fixed !== null) return raw(String(fixed === '' ? 0 : countParts(fixed).parts));
  const on = { contact: sql`c`, destination: sql`c.destination` };
  const counted = sql`coalesce(sms_parts(nullif(${renderSql(pieces, on)}, '')), 0)`;
  const { alphabet, units } = countParts(leastText(pieces));
  if (alphabet !== 'gsm7' || units === 0) return counted;
  // Nearly all fill a short text with plain letters: those are looked at alone, in a third of the time.
  const filled = renderSql(
    pieces.filter((piece) => 'field' in piece),
    on,
  );
  return sql`CASE WHEN ${filled} ~ '^[ -Z_a-z]*$' AND length(${filled}) <= ${raw(String(ONE_PART - units))} THEN 1
                  ELSE ${counted} END`;
}

/** Of a range only those behind its begin: a merge of a million of them would start from the first for each. */
const optOutsOf = (accountId: number, channel: Channel, range: RecipientRange | null): Sql => {
  const o = of('o', channel);
  return sql`LEFT JOIN opt_out ${o} ON ${o}.account_id = ${accountId} AND ${o}.phone_number = c.destination
             AND ${o}.channel = ${channel} ${range ? sql`AND ${o}.phone_number > ${range.after ?? ''}` : sql``}`;
};

/** So many digits decide price and route. */
const longestPrefix = (chain: readonly Channel[]): Sql => sql`
  (SELECT coalesce(max(length(p.prefix)), 0)
   FROM (SELECT prefix, channel FROM price_list UNION ALL SELECT prefix, channel FROM route) AS p
   WHERE p.channel = ANY(${plainArray(chain)}::text[]))`;

const priceList = ({ prices }: Plan): Sql =>
  sql`SELECT * FROM ${rowsOf(prices, {
    channel: text((p) => p.channel),
    prefix: text((p) => p.prefix),
    unit_micros: bigint((p) => p.unitMicros),
    refund_undelivered: boolean((p) => p.refundUndelivered),
  })} AS u`;

/** Of each prefix and channel: `unit`, `refund` and `routed`. What is not SMS goes where its sender belongs. */
function tariff({ mode }: Plan): Sql {
  const chain = chainOf(mode);
  const columns = chain.map(
    (channel) => sql`${of('s', channel)}.unit_micros AS ${of('unit', channel)},
      ${of('s', channel)}.refund_undelivered AS ${of('refund', channel)}, ${routed(channel)} AS ${of('routed', channel)}`,
  );
  return sql`tariff AS MATERIALIZED (
    SELECT p.prefix, ${join(columns)} FROM (SELECT DISTINCT prefix FROM candidate) AS p
    ${join(
      chain.map((channel) => sql`LEFT JOIN LATERAL (${priceOf(channel)}) AS ${of('s', channel)} ON true`),
      ' ',
    )})`;
}

const priceOf = (channel: Channel): Sql => sql`
  SELECT r.unit_micros, r.refund_undelivered FROM price_list r
  WHERE r.channel = ${channel} AND starts_with(substr(p.prefix, 2), r.prefix) ORDER BY length(r.prefix) DESC LIMIT 1`;

const routed = (channel: Channel): Sql =>
  channel === 'SMS'
    ? sql`EXISTS (SELECT FROM route w WHERE w.channel = 'SMS' AND starts_with(substr(p.prefix, 2), w.prefix))`
    : sql`true`;

/**
 * Joins the row `f` to candidate `c` and tariff `t`: `channels`, `reserve`, `reason`, `units`, `shares`.
 *
 * The most that the chain can cost is the dearest way through it: up to some channel, with the price of that one and of
 * those before it whose price is not given back when nothing is delivered. `shares` says what of it is which channel's.
 */
function findingSql({ mode }: Plan): Sql {
  const chain = chainOf(mode);
  const each = (make: (channel: Channel, earlier: readonly Channel[]) => Sql): Sql[] =>
    chain.map((channel, i) => make(channel, chain.slice(0, i)));
  const column = (alias: Sql, name: string): Sql[] => chain.map((channel) => sql`${alias}.${of(name, channel)}`);
  const sum = (items: readonly Sql[]): Sql => join([...items], ' + ');
  return sql`
    CROSS JOIN LATERAL (SELECT ${join(each((channel) => sql`${costOf(channel)} AS ${of('cost', channel)}`))}) AS a
    CROSS JOIN LATERAL (SELECT ${join(each((channel, earlier) => sql`${wayTo(channel, earlier)} AS ${of('way', channel)}`))}) AS b
    CROSS JOIN LATERAL (SELECT greatest(${join(column(sql`b`, 'way'))}) AS way) AS best
    CROSS JOIN LATERAL (SELECT ${join(
      each((channel, earlier) => sql`${shareOf(channel, earlier)} AS ${of('share', channel)}`),
    )}) AS d
    CROSS JOIN LATERAL (
      SELECT (${sum(each((channel) => sql`CASE WHEN a.${of('cost', channel)} IS NULL THEN 0 ELSE ${bit(channel)} END`))})::smallint AS channels,
             coalesce(best.way, 0) AS reserve, ${reasonOf(chain)} AS reason,
             ARRAY[${join(column(sql`t`, 'unit'))}]::bigint[] AS units,
             ARRAY[${join(column(sql`d`, 'share'))}]::bigint[] AS shares) AS f`;
}

/** What it costs to come as far as this channel: its price, and those before it that stay paid. */
const wayTo = (channel: Channel, earlier: readonly Channel[]): Sql =>
  join(
    [
      sql`a.${of('cost', channel)}`,
      ...earlier.map((e) => sql`CASE WHEN t.${of('refund', e)} THEN 0 ELSE coalesce(a.${of('cost', e)}, 0) END`),
    ],
    ' + ',
  );

/** What one message on this channel costs; null when none can be sent. */
const costOf = (channel: Channel): Sql =>
  channel === 'SMS'
    ? sql`CASE WHEN ${isAble(channel)} AND t.${of('routed', channel)} AND ${isSendable}
            THEN t.${of('unit', channel)} * c.parts END`
    : sql`CASE WHEN ${isAble(channel)} THEN t.${of('unit', channel)} END`;

const isAble = (channel: Channel): Sql => sql`c.reason IS NULL AND c.able & ${bit(channel)} <> 0`;
const isSendable = sql`c.parts BETWEEN 1 AND ${raw(String(MOST_PARTS))}`;

/** Its price when the dearest way ends here, or passes here and leaves it paid. */
function shareOf(channel: Channel, earlier: readonly Channel[]): Sql {
  const passed = earlier.map((e) => sql`b.${of('way', e)} IS NOT DISTINCT FROM best.way`);
  const ended = passed.length === 0 ? sql`false` : join(passed, ' OR ');
  return sql`CASE WHEN a.${of('cost', channel)} IS NULL OR ${ended} THEN 0
    WHEN b.${of('way', channel)} = best.way OR NOT t.${of('refund', channel)} THEN a.${of('cost', channel)} ELSE 0 END`;
}

/** Of what keeps the last channels from being tried, the first that their owner can do something about. */
function reasonOf(chain: readonly Channel[]): Sql {
  const priced = chain.map((channel) => sql`(${isAble(channel)} AND t.${of('unit', channel)} IS NOT NULL)`);
  return sql`CASE WHEN c.reason IS NOT NULL THEN c.reason WHEN best.way IS NOT NULL THEN NULL
    WHEN NOT (${isSendable}) THEN 'text' WHEN ${join(priced, ' OR ')} THEN 'no_route' ELSE 'no_price' END`;
}
