import { columnOf, OWN_PLACEHOLDERS } from '../contacts/contact-fields.ts';
import { bitOf, CHANNEL, CHANNELS, type Channel, isRoutedBySender, toBits } from '../core/channels.ts';
import { bigint, rowsOf, smallint, text } from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  join,
  many,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { prefixTable } from '../core/phone.ts';
import { AREA_CODES } from '../messages/calendar-areas.ts';
import { MAX_PARTS } from '../messages/prepare.ts';
import { chainCosts, type FindPrice, type ListedPrice, maxChainCost, pricing } from '../money/pricing.ts';
import type { RoutedPrefix } from '../routing/routes.ts';
import { type PlaceCount, placeOfRecipient } from './hours.ts';
import { orUnknown, type Refusals, refusingSql } from './refusals.ts';
import { type Piece, partsSql, withLink, withReplacements } from './texts.ts';

/** The order in which channels are tried for a recipient. A sending mode names some of them: `WHATSAPP_SMS`. */
const ORDER = ['WHATSAPP', 'RCS', 'SMS'] as const satisfies readonly Channel[];
type ModeOf<Order> = Order extends readonly [infer First extends string, ...infer Rest]
  ? First | ModeOf<Rest> | `${First}_${ModeOf<Rest>}`
  : never;
export type SendingMode = ModeOf<typeof ORDER>;

/** The channels of each mode, in the order in which they are tried; modes with fewer channels first. */
const CHAINS = Object.fromEntries<readonly Channel[]>(
  Array.from({ length: (1 << ORDER.length) - 1 }, (_, i) => ORDER.filter((channel) => bitOf(channel) & (i + 1)))
    .toSorted((a, b) => a.length - b.length)
    .map((chain) => [chain.join('_'), chain]),
) as Readonly<Record<SendingMode, readonly Channel[]>>;
export const SENDING_MODES = Object.keys(CHAINS) as readonly SendingMode[];

/** The fields of each channel: its sender, its text or template, and the template's values for a recipient. */
export const FIELDS_OF = {
  SMS: { sender: 'smsSender', content: 'smsBody' },
  RCS: { sender: 'rcsAgentId', content: 'rcsTemplateId', values: 'rcsValues' },
  WHATSAPP: { sender: 'whatsappPhoneNumberId', content: 'whatsappTemplateId', values: 'whatsappValues' },
} as const satisfies Readonly<Record<Channel, object>>;

/** Returns the channels of a mode, in the order in which they are tried. */
export const chainOf = (mode: SendingMode): readonly Channel[] => CHAINS[mode];

/** Returns true if a mode has several channels: a recipient who is not reached on one is tried on the next. */
export const isCombined = (mode: SendingMode): boolean => CHAINS[mode].length > 1;

/** Returns the channels of a mode as the set of bits that columns store. */
const bitsOf = (mode: SendingMode): number => toBits(CHAINS[mode]);

/** Number of messages of a channel to a country with the same number of parts, and their maximum cost. */
type BreakdownLine = {
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2; '' for numbers that belong to no country. */
  readonly country: string;
  readonly parts: number;
  readonly count: number;
  /** The price of a part on SMS, of a message on other channels. */
  readonly unitMicros: number;
  readonly priceMicros: number;
};

/** Recipients that a campaign would reach and their cost, as the column `audience` stores it. */
export type AudienceCount = {
  /** Distinct numbers to which something is sent. */
  readonly total: number;
  /** Distinct numbers to which nothing is sent. */
  readonly skippedTotal: number;
  /** The recipients by place; absent in audiences of an earlier version. */
  readonly places?: readonly PlaceCount[];
  /** Number of skipped recipients for each reason. `duplicate`: the same number in another list, or given again. */
  readonly skipped: Readonly<Record<SkipReason | 'duplicate', number>>;
  /**
   * Number of skipped entries that do not become recipients: contacts without a number, and texts that are not a number
   * at all.
   */
  readonly unlisted: number;
  readonly breakdown: readonly BreakdownLine[];
  /** Number of recipients that `countOverWeeklyCap` (create.ts) found; absent in audiences of an earlier version. */
  readonly overWeeklyCap?: number;
  /** The price list that was used: it stays in force for the campaign. */
  readonly prices: readonly ListedPrice[];
  /** The category of the WhatsApp template for which they are, in lower case; null: none. */
  readonly whatsappCategory: string | null;
};

/** Number of entries in the lists or numbers of a campaign, before duplicates and unreadable numbers are excluded. */
export type AudienceSize = {
  /** The contacts of all lists together, or the numbers as they were given. */
  readonly named: number;
  /** Number of entries that are not a number at all. */
  readonly unreadable: number;
};

type Sums = Omit<AudienceCount, 'prices' | 'whatsappCategory' | 'overWeeklyCap'> & { readonly estimatedMicros: number };

/** Adds up the counts of one pass. The estimate is the sum of the breakdown, exact to the micro-unit. */
export function sumAudience(
  rows: readonly AudienceRow[],
  mode: SendingMode,
  { named, unreadable }: AudienceSize,
): Sums {
  const countOf = (fits: (row: AudienceRow) => boolean): number =>
    rows.reduce((sum, row) => sum + (fits(row) ? row.count : 0), 0);
  const skip = (reason: SkipReason): number => countOf((row) => row.reason === reason);
  const distinct = countOf(() => true);
  const breakdown = breakDown(rows, mode);
  return {
    total: countOf((row) => row.reason === null),
    skippedTotal: countOf((row) => row.reason !== null) + unreadable,
    skipped: {
      invalid: skip('invalid') + unreadable,
      unsupported: skip('unsupported'),
      opted_out: skip('opted_out'),
      text: skip('text'),
      no_route: skip('no_route'),
      no_price: skip('no_price'),
      duplicate: Math.max(0, named - unreadable - distinct),
    },
    unlisted: countOf((row) => row.numberless) + unreadable,
    places: countPlaces(rows),
    breakdown,
    estimatedMicros: breakdown.reduce((sum, line) => sum + line.priceMicros, 0),
  };
}

function countPlaces(rows: readonly AudienceRow[]): PlaceCount[] {
  const places = new Map<string, PlaceCount>();
  for (const { reason, country, code, count } of rows) {
    if (reason !== null) continue;
    const { area } = placeOfRecipient(country, code);
    const before = places.get(`${country}/${area}`)?.count ?? 0;
    places.set(`${country}/${area}`, { country, area, count: before + count });
  }
  return [...places.values()];
}

/** Breaks the estimate down. A recipient of a combined mode counts for each channel that its reserve pays for. */
function breakDown(rows: readonly AudienceRow[], mode: SendingMode): BreakdownLine[] {
  const lines = new Map<string, BreakdownLine>();
  for (const row of rows.filter(({ reason }) => reason === null))
    for (const [i, channel] of chainOf(mode).entries()) {
      const unitMicros = row.unitMicros[i] ?? null;
      const share = row.shareMicros[i] ?? 0;
      if (unitMicros === null || !(row.channels & bitOf(channel)) || (share === 0 && unitMicros > 0)) continue;
      const parts = row.units[i] ?? 1;
      const key = `${channel}/${row.country}/${parts}/${unitMicros}`;
      const known = lines.get(key);
      const count = (known?.count ?? 0) + row.count;
      lines.set(key, {
        channel,
        country: row.country,
        parts,
        count,
        unitMicros,
        priceMicros: count * unitMicros * parts,
      });
    }
  return [...lines.values()];
}

/** Reasons why nothing is sent to a candidate, in the order in which they are checked. */
export const SKIP_REASONS = ['invalid', 'unsupported', 'opted_out', 'text', 'no_route', 'no_price'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Recipients and content of a campaign, as far as they decide who gets a message and at which price. */
export type Plan = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly mode: SendingMode;
  /** The lists of the campaign; null: its numbers. */
  readonly listIds: readonly number[] | null;
  /** Contacts or numbers of a campaign that is not saved, instead of lists and numbers of the campaign. */
  readonly named?: { readonly contactIds: readonly number[] } | { readonly numbers: NamedNumbers } | undefined;
  readonly refusals: Refusals;
  /** The text of the SMS; null: the mode has no SMS. */
  readonly pieces: readonly Piece[] | null;
  /** An opt-out link, as long as that of each recipient; omitted: the text has none. */
  readonly optOut?: string | undefined;
  /** True if characters of the text are replaced (`smart`). */
  readonly isSmart: boolean;
  /**
   * Method of finding the next candidates of the lists: along all numbers of the account (true), or by sorting the
   * members each time (false), which is less work for short lists in a large account.
   */
  readonly walk: boolean;
  /** The prices in force: the current list for an audience, that of the confirmation for a confirmed campaign. */
  readonly prices: readonly ListedPrice[];
  /** The channels and prefixes for which the account has a route. */
  readonly routes: readonly RoutedPrefix[];
};

/** Valid numbers, each once and sorted, with the data of their numbering plans. */
type NamedNumbers = {
  readonly numbers: readonly string[];
  readonly countries: readonly string[];
  readonly channels: readonly number[];
};

/** A range of candidates: up to `limit` of those whose number comes after `after` (null: from the first). */
export type RecipientRange = { readonly after: string | null; readonly limit: number };

const WITH_PARTS = toBits(CHANNELS.filter((channel) => CHANNEL[channel].parts));

const IS_SENDABLE = sql`c.parts BETWEEN 1 AND ${constant(MAX_PARTS)}`;
/** Joins to candidate `c` the place `p`, and the tariff `t` of the channels that may be tried. */
const JOIN_TARIFF = sql`JOIN place p ON p.prefix = c.prefix
  LEFT JOIN tariff t ON c.reason IS NULL AND t.zone = p.zone
    AND t.able = CASE WHEN ${IS_SENDABLE} THEN c.able ELSE c.able & ~${constant(WITH_PARTS)} END`;
/** The reason why no channel can be tried: the first one that the account can change. */
const REASON = sql`CASE WHEN c.reason IS NOT NULL THEN c.reason WHEN t.channels <> 0 THEN NULL
  WHEN NOT (${IS_SENDABLE}) THEN 'text' ELSE t.reason END`;

/**
 * A SELECT of `country, destination, contact_id, channels, sms_parts, reserve_micros, skip_reason`: the recipients of a
 * campaign. It gives one row per number, in the order of the numbers, including those that get nothing (`channels` 0,
 * with the reason). `channels` are the bits of the channels that may be tried: in the mode, supported, not opted out
 * of, with a route and a price. `reserve_micros` is the maximum that trying them in turn can cost. No rows: there are
 * no candidates after the start of the range.
 */
export function recipientsSql(plan: Plan, range: RecipientRange | null): Sql {
  const tariff = tariffOf(plan);
  return sql`
    WITH candidate AS MATERIALIZED (${candidates(plan, tariff, range)}), ${tariffSql(tariff)}
    SELECT c.country, c.destination, c.contact_id, coalesce(t.channels, 0)::smallint AS channels, c.parts AS sms_parts,
           coalesce(greatest(t.rich_micros, t.spent_micros + t.part_micros * c.parts), 0) AS reserve_micros,
           ${REASON} AS skip_reason
    FROM candidate c ${JOIN_TARIFF}
    ORDER BY c.destination`;
}

/** The beginning of a number that shows its area. */
const CODE = raw(
  `CASE country ${AREA_CODES.map(({ country, length }) => `WHEN '${country}' THEN left(destination, ${length})`).join(' ')} ELSE '' END`,
);

const AUDIENCE_ROW = columns({
  country: as<string>('c.country'),
  /** The part of the numbers that shows their area; '' in other countries. */
  code: as<string>('c.code'),
  zone: as<string>('p.zone'),
  parts: as<number>('c.parts'),
  channels: as<number>('coalesce(t.channels, 0)'),
  reason: as<SkipReason | null>(REASON),
  /** True for contacts without any number. */
  numberless: as<boolean>('c.numberless'),
  count: as<number>('sum(c.count)::bigint'),
});

/** Number of candidates that agree in everything that decides their price. */
export type AudienceRow = Omit<RowOf<typeof AUDIENCE_ROW>, 'zone'> & {
  /** The unit price of each channel, in the order of the mode. */
  readonly unitMicros: readonly (number | null)[];
  /** The number of times that the unit price of each channel is charged, in the order of the mode. */
  readonly units: readonly number[];
  /** The reserve of one recipient for each channel, in the order of the mode. */
  readonly shareMicros: readonly number[];
  /**
   * True if the price of the channel is returned when nothing is delivered; for each channel, in the order of the mode.
   */
  readonly refunds: readonly (boolean | null)[];
};

/** Counts all candidates of a campaign in one pass, grouped by what decides their price. */
export async function listAudienceRows(db: Db, plan: Plan): Promise<AudienceRow[]> {
  const tariff = tariffOf(plan);
  const rows = await many<RowOf<typeof AUDIENCE_ROW>>(
    db,
    sql`WITH candidate AS MATERIALIZED (
          SELECT country, prefix, ${CODE} AS code, parts, able, reason, destination IS NULL AS numberless, count(*) AS count
          FROM (${candidates(plan, tariff, null)}) AS q
          GROUP BY country, prefix, code, parts, able, reason, numberless),
        ${tariffSql(tariff)}
        SELECT ${AUDIENCE_ROW}
        FROM candidate c ${JOIN_TARIFF}
        GROUP BY c.country, c.code, p.zone, c.parts, t.channels, c.reason, t.reason, c.numberless
        ORDER BY c.country, c.code, c.parts, channels`,
  );
  const chain = chainOf(plan.mode);
  const findPrice = pricing(plan.prices);
  return rows.map(({ zone, ...row }) => {
    const prices = chain.map((channel) => findPrice({ channel, destination: `+${zone}`, parts: row.parts }));
    const shares = sharesOf(prices.map((price, i) => (row.channels & bitOf(chain[i] as Channel) ? price : null)));
    return {
      ...row,
      unitMicros: prices.map((price) => price?.unitMicros ?? null),
      units: prices.map((price) => (price?.perPart ? row.parts : 1)),
      shareMicros: shares,
      refunds: prices.map((price) => price?.refundUndelivered ?? null),
    };
  });
}

/**
 * Splits the maximum that a chain can cost among its channels: a price counts if the most expensive way ends at its
 * channel, or passes it without the price being returned. Null stands for a channel that is not tried.
 */
function sharesOf(prices: readonly ReturnType<FindPrice>[]): number[] {
  const chain = prices.filter((price) => price !== null);
  const costs = chainCosts(chain);
  const end = costs.indexOf(Math.max(...costs));
  const share = new Map(
    chain.map((price, i) => [price, i === end || (i < end && !price.refundUndelivered) ? price.priceMicros : 0]),
  );
  return prices.map((price) => (price && share.get(price)) ?? 0);
}

/**
 * Prices of a plan for one set of channels (`able`) in one zone: the numbers that begin with its prefix and with no
 * longer one that any price or route names. The maximum cost of a recipient is the larger of `richMicros`, which ends
 * before SMS, and `spentMicros` with `partMicros` for each part, which ends at it.
 */
type TariffRow = {
  readonly zone: string;
  readonly able: number;
  /** The channels of `able` with a price and a route. */
  readonly channels: number;
  readonly richMicros: number;
  readonly spentMicros: number;
  readonly partMicros: number;
  /** The reason why there are none. */
  readonly reason: SkipReason;
};

/** Stands for a message at the end of a chain, whose price is added later. */
const FREE = { priceMicros: 0, refundUndelivered: true };

/** Asks for the price of each channel and zone once. */
function tariffOf({ mode, prices, routes }: Plan): TariffRow[] {
  const chain = chainOf(mode);
  const findPrice = pricing(prices);
  const routed = prefixTable(routes.map(({ channel: group, prefix }) => ({ group, prefix, value: true })));
  const named = [...prices, ...routes].filter(({ channel }) => chain.includes(channel)).map(({ prefix }) => prefix);
  const sets = Array.from({ length: 1 << chain.length }, (_, n) => chain.filter((_channel, i) => n & (1 << i))).slice(
    1,
  );
  return [...new Set(['', ...named])].flatMap((zone) => {
    const destination = `+${zone}`;
    const options = chain.flatMap((channel) => {
      const price = findPrice({ channel, destination, parts: 1 });
      const hasRoute = isRoutedBySender(channel) || routed.find(channel, destination) === true;
      return price ? [{ ...price, channel, hasRoute }] : [];
    });
    return sets.map((able): TariffRow => {
      const priced = options.filter(({ channel }) => able.includes(channel));
      const tried = priced.filter(({ hasRoute }) => hasRoute);
      const rich = tried.filter(({ channel }) => !CHANNEL[channel].parts);
      const text = tried.find(({ channel }) => CHANNEL[channel].parts);
      const textMicros = text?.priceMicros ?? 0;
      return {
        zone,
        able: toBits(able),
        channels: toBits(tried.map(({ channel }) => channel)),
        richMicros: maxChainCost(rich),
        spentMicros: (chainCosts([...rich, FREE]).at(-1) ?? 0) + (text?.perPart === false ? textMicros : 0),
        partMicros: text?.perPart === false ? 0 : textMicros,
        reason: priced.length > 0 ? 'no_route' : 'no_price',
      };
    });
  });
}

/**
 * A SELECT of `country, destination, prefix, contact_id, parts, able, reason`. `prefix`: the first digits of the
 * number, as many as any price or route distinguishes. `able`: the bits of the mode's channels that are supported and
 * not opted out of. `parts` 0: the text is empty.
 */
function candidates(plan: Plan, tariff: readonly TariffRow[], range: RecipientRange | null): Sql {
  const chain = chainOf(plan.mode);
  const supported = sql`(c.channels & ${bitsOf(plan.mode)}::int)`;
  const refused = join(
    chain.map((channel) => {
      const refused = orUnknown(sql`${of('o', channel)}.refused`, plan.refusals, channel);
      return sql`CASE WHEN ${refused} THEN ${bit(channel)} ELSE 0 END`;
    }),
    ' | ',
  );
  return sql`
    SELECT c.country, c.destination, coalesce(left(c.destination, ${constant(1 + longestZone(tariff))}), '') AS prefix,
           c.contact_id, ${partsOf(plan)} AS parts, ${supported} & ~(${refused}) AS able,
           CASE WHEN c.destination IS NULL OR NOT c.is_valid THEN 'invalid' WHEN ${supported} = 0 THEN 'unsupported'
                WHEN ${supported} & ~(${refused}) = 0 THEN 'opted_out' END AS reason
    FROM (${sourceOf(plan, range)}) AS c
    ${join(
      chain.map((channel) => optOutsOf(plan, channel, range)),
      ' ',
    )}`;
}

/** The bit of a channel, as part of the text: as a parameter it would have no type. */
const bit = (channel: Channel): Sql => constant(bitOf(channel));
/** The alias or column name of a channel. */
const of = (name: string, channel: Channel): Sql => raw(`${name}${channel.toLowerCase()}`);

/** The columns of a contact that texts may use. */
const CONTACT = sql`c.id AS contact_id, c.full_name, ${join(OWN_PLACEHOLDERS.map((name) => sql`c.${columnOf(name)}`))},
           c.custom_fields`;

function sourceOf(plan: Plan, range: RecipientRange | null): Sql {
  const { accountId, listIds, named } = plan;
  if (named && 'contactIds' in named)
    return sql`${contacts(accountId)} AND c.id = ANY(${plainArray(named.contactIds)}::bigint[])`;
  if (named || listIds === null) return numbers(plan, range);
  return sql`${contacts(accountId)} AND ${isMember(plan, listIds, range)}`;
}

/**
 * Candidates from numbers, in byte order, in which `numbers` is sorted; other columns of numbers have the usual
 * collation.
 */
function numbers(plan: Plan, range: RecipientRange | null): Sql {
  const { accountId } = plan;
  const next = range ? sql`AND u.number > ${range.after ?? ''} ORDER BY u.number LIMIT ${range.limit}` : sql``;
  return sql`
    SELECT n.number AS destination, n.person, n.country, coalesce(c.is_valid, true) AS is_valid,
           coalesce(c.channels & c.allowed_channels, n.channels) AS channels, ${CONTACT}
    FROM (SELECT u.number COLLATE "default" AS number, person_of(u.number COLLATE "default") AS person, u.country, u.channels
          FROM ${numbersOf(plan)} ${next}) AS n
    LEFT JOIN contact c ON c.account_id = ${accountId} AND c.person = n.person`;
}

/** Builds the part after FROM: the rows `u` of the numbers, and a WHERE clause. */
function numbersOf({ accountId, campaignId, named }: Plan): Sql {
  if (!named || !('numbers' in named))
    return sql`campaign k, unnest(k.numbers, k.number_countries, k.number_channels) AS u (number, country, channels)
          WHERE k.account_id = ${accountId} AND k.id = ${campaignId}`;
  const { numbers: all, countries, channels } = named.numbers;
  return sql`unnest(${plainArray(all)}::text[] COLLATE "C", ${textArray(countries)}::text[],
            ${plainArray(channels)}::smallint[]) AS u (number, country, channels) WHERE true`;
}

const contacts = (accountId: number): Sql => sql`
    SELECT c.phone_number AS destination, c.person, coalesce(c.country, '') AS country, c.is_valid,
      c.channels & c.allowed_channels AS channels, ${CONTACT}
    FROM contact c WHERE c.account_id = ${accountId}`;

/**
 * A condition, and for a range its order and limit: the contact is a member of the lists. For the whole pass, the
 * planner chooses the plan. For a range, the plan must be the same each time, whatever the statistics: a plan that
 * sorts a million members for every 5,000 of them takes a hundred times as long.
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

function partsOf({ pieces: asWritten, isSmart, optOut }: Plan): Sql {
  if (asWritten === null) return sql`1`;
  const pieces = optOut === undefined ? asWritten : withLink(asWritten, optOut);
  const on = { contact: sql`c`, destination: sql`c.destination` };
  if (!isSmart) return partsSql(pieces, on);
  return sql`CASE WHEN starts_with(c.destination, '+91') THEN ${partsSql(pieces, on)} ELSE ${partsSql(withReplacements(pieces), on)} END`;
}

/** Joins the opt-outs of a channel; for a range one by one: a merge or a hash of a million costs more. */
const optOutsOf = ({ refusals }: Plan, channel: Channel, range: RecipientRange | null): Sql => {
  const o = of('o', channel);
  const persons = refusingSql(refusals, channel);
  return range
    ? sql`LEFT JOIN LATERAL (SELECT x.refused FROM (${persons}) AS x WHERE x.person = c.person LIMIT 1) AS ${o} ON true`
    : sql`LEFT JOIN (${persons}) AS ${o} ON ${o}.person = c.person`;
};

const longestZone = (tariff: readonly TariffRow[]): number =>
  tariff.reduce((max, { zone }) => Math.max(max, zone.length), 0);

/** The tables `tariff`, and `place` with the zone of each prefix. */
const tariffSql = (tariff: readonly TariffRow[]): Sql => sql`
  tariff AS MATERIALIZED (SELECT * FROM ${rowsOf(tariff, {
    zone: text((row) => row.zone),
    able: smallint((row) => row.able),
    channels: smallint((row) => row.channels),
    rich_micros: bigint((row) => row.richMicros),
    spent_micros: bigint((row) => row.spentMicros),
    part_micros: bigint((row) => row.partMicros),
    reason: text((row) => row.reason),
  })} AS u),
  place AS MATERIALIZED (
    SELECT p.prefix, z.zone FROM (SELECT DISTINCT prefix FROM candidate) AS p
    CROSS JOIN LATERAL (
      SELECT zone FROM (SELECT DISTINCT zone FROM tariff) AS q
      WHERE starts_with(substr(p.prefix, 2), zone) ORDER BY length(zone) DESC LIMIT 1) AS z)`;
