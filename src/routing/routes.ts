import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { type Channel, PURPOSES, type Purpose } from '../core/channels.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { isTimeZone, localTimeOf, MINUTE_MS } from '../core/time.ts';
import type { OnUnknown } from '../dispatch/store.ts';
import { connectionNamed, notifyRoutingChange } from './connection-store.ts';

type RouteInput = {
  readonly channel: Channel;
  /** Leading digits without the plus; empty for all numbers. */
  readonly prefix: string;
  readonly connection: string;
  /** Lower goes first among equal prefixes. */
  readonly priority: number;
  readonly onUnknown: OnUnknown;
  /** Its part of the traffic of the routes with the same priority, from 1 to 1,000; null: it does not share. */
  readonly weight?: number | null;
} & Partial<Conditions>;

/** The largest number that the column holds. */
const MAX_PRIORITY = 2 ** 31 - 1;
const MAX_WEIGHT = 1000;

/**
 * Routes the numbers with a prefix to a connection, for all messages or for those that meet the conditions, or changes
 * priority, policy and weight of the route that exists with the same conditions; running processes follow immediately.
 * Call it in a transaction. Errors: 400 naming the invalid fields, 404 for the connection.
 */
export async function addRoute(
  tx: Db,
  { by, ...input }: RouteInput & { readonly by: string },
): Promise<{ id: number }> {
  const {
    connection: name,
    network = null,
    accountId = null,
    sender = null,
    hours = null,
    purpose = null,
    weight = null,
    ...rest
  } = input;
  const conditions = { network, accountId, sender, hours, purpose };
  const errors = [...faultsOf(input), ...faultsOfConditions(conditions)];
  if (errors.length > 0) throw invalidFields(errors);
  const { id: connectionId } = await connectionNamed(tx, name);
  const values = { ...rest, weight, connectionId };
  const isConditional = Object.values(conditions).some((condition) => condition !== null);
  const route = isConditional
    ? await insertConditionalRoute(tx, { ...values, ...conditions })
    : await insertRoute(tx, values);
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.add',
    subject: `route:${route.id}`,
    detail: input,
  });
  await notifyRoutingChange(tx);
  return route;
}

function faultsOf({ prefix, priority, weight = null }: RouteInput): FieldError[] {
  const isPriority = Number.isInteger(priority) && Math.abs(priority) <= MAX_PRIORITY;
  const isWeight = weight === null || (Number.isInteger(weight) && weight >= 1 && weight <= MAX_WEIGHT);
  return [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(isPriority ? [] : [{ field: 'priority', message: 'must be a whole number' }]),
    ...(isWeight ? [] : [{ field: 'weight', message: `must be a whole number from 1 to ${MAX_WEIGHT}` }]),
  ];
}

function faultsOfConditions({ network, accountId, sender, hours, purpose }: Conditions): FieldError[] {
  const isAccount = accountId === null || (Number.isSafeInteger(accountId) && accountId > 0);
  const isSender = sender === null || /^[^\p{Cc}]{1,20}$/u.test(sender);
  const fault = hours === null ? undefined : faultOfHours(hours);
  return [
    ...(network === null || NETWORK.test(network)
      ? []
      : [{ field: 'network', message: 'must be MCC and MNC: 5 or 6 digits, such as 22201' }]),
    ...(isAccount ? [] : [{ field: 'accountId', message: 'must be the id of an account' }]),
    ...(isSender ? [] : [{ field: 'sender', message: 'must have 1 to 20 characters' }]),
    ...(fault === undefined ? [] : [{ field: 'hours', message: fault }]),
    ...(purpose === null || PURPOSES.includes(purpose)
      ? []
      : [{ field: 'purpose', message: `must be one of ${PURPOSES.join(', ')}` }]),
  ];
}

const NETWORK = /^\d{5,6}$/;

/** Removes a route, and records it in the audit log. Call it in a transaction. Errors: 404. */
export async function removeRoute(tx: Db, { id, by }: { readonly id: number; readonly by: string }): Promise<void> {
  const detail = Number.isSafeInteger(id)
    ? ((await deleteRoute(tx, { id })) ?? (await deleteConditionalRoute(tx, { id })))
    : undefined;
  if (!detail) throw new AppError('not_found', { message: 'There is no such route' });
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.remove',
    subject: `route:${id}`,
    detail,
  });
  await notifyRoutingChange(tx);
}

/** Conditions of a route; null conditions are always met. */
export type Conditions = {
  /** MCC and MNC of the network of the number, such as 22201. Not met while the network is unknown. */
  readonly network: string | null;
  readonly accountId: number | null;
  /** The sender of the message, in any case. */
  readonly sender: string | null;
  /** Hours in which the message is sent: immediately, or at its scheduled time. */
  readonly hours: Hours | null;
  readonly purpose: Purpose | null;
};

/** Data about a message when it is routed. */
export type Traffic = {
  readonly accountId: number;
  readonly sender: string;
  /** MCC and MNC of the network of its number; null if unknown. */
  readonly network: string | null;
  /** Null or omitted: it has none. */
  readonly purpose?: Purpose | null;
  /** Send time; null: now. */
  readonly at: Date | null;
  /**
   * Decides its place where routes share the traffic: the same key goes the same way. The id of the message, or, where
   * messages belong together, a value they share.
   */
  readonly key: string;
  /** Changes the place of all keys: the id of the campaign, whose messages have the number as their key. */
  readonly salt: number;
};

export type ConditionName = 'network' | 'account' | 'sender' | 'hours' | 'purpose';

/** A condition that is ready to be checked for many messages. */
export type Check = {
  readonly name: ConditionName;
  isMet(traffic: Traffic): boolean;
};

/** Makes the checks of the conditions of a route; none when it has no conditions. */
export function checksOf({ network, accountId, sender, hours, purpose }: Conditions): Check[] {
  const checks: Check[] = [];
  if (network !== null) checks.push({ name: 'network', isMet: (traffic) => traffic.network === network });
  if (accountId !== null) checks.push({ name: 'account', isMet: (traffic) => traffic.accountId === accountId });
  if (sender !== null) {
    const name = sender.toLowerCase();
    checks.push({ name: 'sender', isMet: (traffic) => traffic.sender.toLowerCase() === name });
  }
  if (hours !== null) {
    const isOpen = openingOf(hours);
    checks.push({ name: 'hours', isMet: ({ at }) => isOpen(at?.getTime() ?? Date.now()) });
  }
  if (purpose !== null) checks.push({ name: 'purpose', isMet: (traffic) => traffic.purpose === purpose });
  return checks;
}

/**
 * Writes the conditions of a route for people: `network 22201, account 7, sender ACME, 08:00-20:00 Europe/Rome
 * Mon-Fri`.
 */
export function describeConditions({ network, accountId, sender, hours, purpose }: Conditions): string {
  return [
    ...(network === null ? [] : [`network ${network}`]),
    ...(accountId === null ? [] : [`account ${accountId}`]),
    ...(sender === null ? [] : [`sender ${sender}`]),
    ...(hours === null ? [] : [describeHours(hours)]),
    ...(purpose === null ? [] : [purpose]),
  ].join(', ');
}

const DAYS: readonly string[] = ['', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

function describeHours({ from, to, timeZone, weekdays }: Hours): string {
  const time = `${from}-${to} ${timeZone}`;
  if (weekdays.length === 7) return time;
  const [first = 0, last = 0] = [weekdays[0], weekdays.at(-1)];
  const isRange = weekdays.length > 2 && last - first === weekdays.length - 1;
  const names = isRange ? `${DAYS[first]}-${DAYS[last]}` : weekdays.map((day) => DAYS[day]).join(' ');
  return `${time} ${names}`;
}

/** The hours in which a route is used, as clocks in a time zone show them. */
export type Hours = {
  /** The first minute, as HH:MM. */
  readonly from: string;
  /** The minute after the last one, as HH:MM, up to 24:00. Not after `from`: the hours end on the next day. */
  readonly to: string;
  /** A time zone of the IANA database, such as Europe/Rome. */
  readonly timeZone: string;
  /** The days on which the hours begin, in ascending order: 1 is Monday, 7 Sunday. */
  readonly weekdays: number[];
};

export const ALL_WEEKDAYS: number[] = [1, 2, 3, 4, 5, 6, 7];

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Returns the error in hours; undefined if there is none. */
export function faultOfHours({ from, to, timeZone, weekdays }: Hours): string | undefined {
  if (!TIME.test(from) || !(TIME.test(to) || to === '24:00'))
    return 'must be two times as HH:MM, such as 08:00 and 20:00';
  if (from === to) return 'must begin and end at different times';
  if (!isTimeZone(timeZone)) return `${timeZone} is not a time zone: use one such as Europe/Rome`;
  const ascending = weekdays.every((day, i) => ALL_WEEKDAYS.includes(day) && day > (weekdays[i - 1] ?? 0));
  return weekdays.length > 0 && ascending ? undefined : 'must have days of the week from 1 (Monday) to 7, in order';
}

/**
 * Makes a function that returns true if an instant, in ms since 1970, is within hours. At a change of the clock the
 * hours follow the clock: an hour that is skipped is missing, and one that comes twice counts twice. It remembers the
 * last minute, so that a million messages of a minute query the calendar once.
 */
export function openingOf({ from, to, timeZone, weekdays }: Hours): (atMs: number) => boolean {
  const days = new Set(weekdays);
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  const find = (at: Date): boolean => {
    const { minute, weekday } = localTimeOf(timeZone, at);
    if (begin < end) return minute >= begin && minute < end && days.has(weekday);
    if (minute >= begin) return days.has(weekday);
    return minute < end && days.has(weekday === 1 ? 7 : weekday - 1);
  };
  let known = { minute: Number.NaN, open: false };
  return (atMs) => {
    const minute = Math.floor(atMs / MINUTE_MS);
    if (minute !== known.minute) known = { minute, open: find(new Date(atMs)) };
    return known.open;
  };
}

function minutesOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}

/** The routes of both tables, for the FROM of a statement: rows with the columns of `conditional_route`. */
export const ALL_ROUTES = sql`(
  SELECT id, channel, prefix, connection_id, priority, on_unknown, weight, NULL AS network, NULL::bigint AS owner_id,
         NULL AS sender, NULL::jsonb AS hours, NULL AS purpose
  FROM route
  UNION ALL
  SELECT id, channel, prefix, connection_id, priority, on_unknown, weight, network, owner_id, sender, hours, purpose
  FROM conditional_route)`;

/** A prefix for which an account has a route, its conditions met or not. */
export type RoutedPrefix = { readonly channel: Channel; readonly prefix: string };

/** Lists the prefixes for which an account has routes. Accounts may know no more than that about routes. */
export const listRoutedPrefixes = (db: Db, { accountId }: { accountId: number }): Promise<RoutedPrefix[]> =>
  many(
    db,
    sql`SELECT channel, prefix FROM route
        UNION
        SELECT channel, prefix FROM conditional_route WHERE owner_id IS NULL OR owner_id = ${accountId}`,
  );

/**
 * The order in which the routes `r` of a prefix are tried as far as their conditions are met: by priority; among equal
 * priorities first those that share the traffic, then those with more conditions, then the older ones.
 */
export const RANK = sql`r.priority, r.weight IS NULL, num_nonnulls(r.network, r.owner_id, r.sender, r.hours, r.purpose) DESC, r.id`;

const ROUTE = columns({
  id: as<number>('r.id'),
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connectionId: as<number>('r.connection_id'),
  connection: as<string>('c.name'),
  /** True if the connection leads to the sandbox carrier. */
  sandbox: as<boolean>('c.sandbox'),
  priority: as<number>('r.priority'),
  /** Applies to single sends that are routed by it. */
  onUnknown: as<OnUnknown>('r.on_unknown'),
  /** Its part of the traffic of the routes with the same priority; null: it does not share, and comes after them. */
  weight: as<number | null>('r.weight'),
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Hours | null>('r.hours'),
  purpose: as<Purpose | null>('r.purpose'),
  /** The place among the routes of the same prefix, from 1. */
  order: as<number>(sql`row_number() OVER (PARTITION BY r.channel, r.prefix ORDER BY ${RANK})::int`),
});
export type Route = RowOf<typeof ROUTE>;

/** Lists all routes, within a channel in the order that decides: longest prefix, then their order in it. */
export async function listRoutes(db: Db): Promise<Route[]> {
  return many(
    db,
    sql`SELECT ${ROUTE}
        FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id
        ORDER BY r.channel, length(r.prefix) DESC, r.prefix, ${RANK}`,
  );
}

type NewRoute = {
  readonly channel: Channel;
  readonly prefix: string;
  readonly connectionId: number;
  readonly priority: number;
  readonly onUnknown?: OnUnknown;
  readonly weight?: number | null;
};

/** Inserts a route without conditions, or changes priority, policy and weight of the one that exists. */
export async function insertRoute(db: Db, route: NewRoute): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO route (channel, prefix, connection_id, priority, on_unknown, weight)
        VALUES (${route.channel}, ${route.prefix}, ${route.connectionId}, ${route.priority},
                ${route.onUnknown ?? 'hold'}, ${route.weight ?? null})
        ON CONFLICT (channel, prefix, connection_id)
          DO UPDATE SET priority = excluded.priority, on_unknown = excluded.on_unknown, weight = excluded.weight
        RETURNING id`,
  );
}

/** Inserts a route with conditions, or changes priority, policy and weight of the one that has the same. */
export async function insertConditionalRoute(db: Db, route: NewRoute & Conditions): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO conditional_route (id, channel, prefix, connection_id, priority, on_unknown, weight,
                                       network, owner_id, sender, hours, purpose)
        VALUES (nextval(pg_get_serial_sequence('route', 'id')), ${route.channel}, ${route.prefix}, ${route.connectionId},
                ${route.priority}, ${route.onUnknown ?? 'hold'}, ${route.weight ?? null}, ${route.network},
                ${route.accountId}, ${route.sender}, ${route.hours && JSON.stringify(route.hours)}, ${route.purpose})
        ON CONFLICT (channel, prefix, connection_id, network, owner_id, sender, hours, purpose)
          DO UPDATE SET priority = excluded.priority, on_unknown = excluded.on_unknown, weight = excluded.weight
        RETURNING id`,
  );
}

const DELETED_ROUTE = columns({
  channel: as<Channel>('r.channel'),
  prefix: as<string>('r.prefix'),
  connection: as<string>('c.name'),
  priority: as<number>('r.priority'),
  onUnknown: as<OnUnknown>('r.on_unknown'),
  weight: as<number | null>('r.weight'),
});
export type DeletedRoute = RowOf<typeof DELETED_ROUTE>;

/** Deletes a route without conditions and returns it; undefined when there is none. */
export async function deleteRoute(db: Db, { id }: { id: number }): Promise<DeletedRoute | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING ${DELETED_ROUTE}`,
  );
}

const DELETED_CONDITIONS = columns({
  network: as<string | null>('r.network'),
  accountId: as<number | null>('r.owner_id'),
  sender: as<string | null>('r.sender'),
  hours: as<Hours | null>('r.hours'),
  purpose: as<Purpose | null>('r.purpose'),
});

/** Deletes a route with conditions and returns it; undefined when there is none. */
export async function deleteConditionalRoute(
  db: Db,
  { id }: { id: number },
): Promise<(DeletedRoute & RowOf<typeof DELETED_CONDITIONS>) | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM conditional_route r USING connection c WHERE r.id = ${id} AND c.id = r.connection_id
        RETURNING ${DELETED_ROUTE}, ${DELETED_CONDITIONS}`,
  );
}

/** Deletes all routes of a connection; returns their number. */
export async function deleteRoutesOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  const { deleted } = await one<{ deleted: number }>(
    db,
    sql`WITH plain AS (DELETE FROM route WHERE connection_id = ${connectionId} RETURNING id),
             conditional AS (DELETE FROM conditional_route WHERE connection_id = ${connectionId} RETURNING id)
        SELECT (SELECT count(*) FROM plain) + (SELECT count(*) FROM conditional) AS deleted`,
  );
  return deleted;
}
