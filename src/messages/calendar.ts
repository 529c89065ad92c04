import type { Purpose } from '../core/channels.ts';
import { countryOfUserId, parsePhone } from '../core/phone.ts';
import { DAY_MS, MINUTE_MS, offsetAt, weekdayOf } from '../core/time.ts';
import { areaOf, findArea } from './calendar-areas.ts';
import { CALENDAR_RULES, type CalendarRule, HOLIDAYS } from './calendar-rules.ts';

/**
 * Location of a number, as far as it can be known: its country (ISO 3166-1 alpha-2; '' for none) and an area
 * (`findArea`).
 */
export type Place = { readonly country: string; readonly area: string };

/** Returns the place of a number in E.164, or of a user id. Takes about 10 µs. */
export function placeOf(destination: string): Place {
  const country = countryOfUserId(destination) ?? parsePhone(destination)?.country ?? '';
  return { country, area: areaOf(country, destination) };
}

/**
 * The hours (`HH:mm`, in the recipient's own time) during which nothing is sent; they may span midnight. `off`: there
 * are none, even if the account has quiet hours.
 */
export type QuietHours = { readonly from: string; readonly to: string } | { readonly off: true };

export type Limits = {
  /** True if the rules of the country apply (calendar-rules.ts). */
  readonly laws: boolean;
  readonly quietHours: QuietHours | null;
};

/** The laws are about marketing; a message without a purpose counts as that. */
export const isUnderLaws = (purpose: Purpose | null): boolean => purpose === null || purpose === 'marketing';

/** A message that must wait. */
export type Hold = {
  /** The next moment at which it may be sent. */
  readonly until: Date;
  /** The rule that holds it: calendar.FR.sunday, or calendar.quietHours. */
  readonly rule: string;
  /** The document with the rule; null for quiet hours. */
  readonly source: string | null;
};

/** Hours of a day in ms since its midnight, the ends exclusive and in order. */
type Span = readonly [open: number, close: number];

/** Something that limits hours: its spans on each day, counted from 1970-01-01, and the name of what limits them. */
type Limit = {
  readonly source: string | null;
  spansOf(day: number): readonly Span[];
  nameOf(day: number): string;
};

/** Rounds in which the zones of a country are brought together; each takes it to the next opening of one of them. */
const MAX_ROUNDS = 100;

/**
 * Returns the next moment at which a message to a place may be sent, and the rule that holds it until then; null if it
 * may be sent at the instant itself. The one decision about hours: sends, previews, audiences and campaigns ask it. Where a
 * number does not show in which of several time zones its person lives, all of them must allow it. Pure.
 */
export function holdOf(place: Place, limits: Limits, at: Date): Hold | null {
  const active = limitsOf(place, limits);
  if (active.length === 0) return null;
  const zones = zonesOf(place);
  const from = at.getTime();
  // If the zones are never all open, the first one decides.
  const until = openAfter(active, zones, from) ?? openAfter(active, zones.slice(0, 1), from) ?? from;
  if (until === from) return null;
  const { rule, source } = reasonOf(active, zones, from) ?? { rule: QUIET_HOURS, source: null };
  return { until: new Date(until), rule, source };
}

/** Returns the first instant at which every limit allows every zone; null if there is none within `MAX_ROUNDS`. */
function openAfter(limits: readonly Limit[], zones: readonly string[], from: number): number | null {
  let at = from;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let next = at;
    for (const zone of zones) for (const limit of limits) next = Math.max(next, nextOpen(limit, zone, next));
    if (next === at) return at;
    at = next;
  }
  return null;
}

/** Days in which a rule must open at some time. */
const MAX_CLOSED_DAYS = 30;

/** Returns the first instant from `from` on at which the clocks of a zone show a time that a limit allows. */
function nextOpen(limit: Limit, zone: string, from: number): number {
  let at = from;
  for (;;) {
    const offset = offsetAt(zone, at);
    const local = at + offset;
    const open = nextSpan(limit, local);
    if (open === local) return at;
    const then = open - offset;
    if (offsetAt(zone, then) === offset) return then;
    // The clocks change before that: look again from there.
    at = firstChange(zone, at, then);
  }
}

/** Returns the local time, in ms, at which a limit opens next, or the given one if it is open. */
function nextSpan(limit: Limit, local: number): number {
  const today = Math.floor(local / DAY_MS);
  for (let day = today; day < today + MAX_CLOSED_DAYS; day++)
    for (const [open, close] of limit.spansOf(day)) {
      if (local < day * DAY_MS + open) return day * DAY_MS + open;
      if (local < day * DAY_MS + close) return local;
    }
  return local;
}

/** Returns the first instant, to the minute, at which the offset of a zone is another one than before. */
function firstChange(zone: string, from: number, to: number): number {
  const before = offsetAt(zone, from);
  let [same, other] = [Math.floor(from / MINUTE_MS), Math.ceil(to / MINUTE_MS)];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (offsetAt(zone, middle * MINUTE_MS) === before) same = middle;
    else other = middle;
  }
  return other * MINUTE_MS;
}

/** Names the rule: that of the last closed day before the next opening, or else of the hours of today. */
function reasonOf(limits: readonly Limit[], zones: readonly string[], at: number) {
  for (const limit of limits)
    for (const zone of zones) {
      const local = at + offsetAt(zone, at);
      const open = nextSpan(limit, local);
      if (open === local) continue;
      const [today, last] = [Math.floor(local / DAY_MS), Math.floor(open / DAY_MS) - 1];
      return { rule: limit.nameOf(Math.max(today, last)), source: limit.source };
    }
  return null;
}

function limitsOf({ country, area }: Place, { laws, quietHours }: Limits): readonly Limit[] {
  const law = laws ? findLaw(country, area) : null;
  const quiet = quietHours === null || 'off' in quietHours ? null : quietLimit(quietHours);
  return [...(law ? [law] : []), ...(quiet ? [quiet] : [])];
}

const QUIET_HOURS = 'calendar.quietHours';

function quietLimit({ from, to }: { from: string; to: string }): Limit {
  const [begin, end] = [msOf(from), msOf(to)];
  const all: readonly Span[] =
    begin < end
      ? [
          [0, begin],
          [end, DAY_MS],
        ]
      : [[end, begin]];
  const spans = all.filter(([open, close]) => open < close);
  return { source: null, spansOf: () => spans, nameOf: () => QUIET_HOURS };
}

const LAWS = new Map(
  CALENDAR_RULES.flatMap((rule) => rule.places.map((place) => [place, lawOf(place, rule)] as const)),
);

/** Finds the rule of a state, or else of its country; numbers that show no state may have a separate rule. */
function findLaw(country: string, area: string): Limit | null {
  const region = findArea(area)?.region ?? `${country}-?`;
  return LAWS.get(region) ?? LAWS.get(country) ?? null;
}

function lawOf(place: string, rule: CalendarRule): Limit {
  const { weekdays, saturday = weekdays, sunday = weekdays, holiday, eve, source } = rule;
  const isHoliday = holidaysOf(place);
  const hours = { weekdays: spansIn(weekdays), saturday: spansIn(saturday), sunday: spansIn(sunday) };
  const [onHoliday, onEve] = [spansIn(holiday ?? null), spansIn(eve ?? null)];
  const kindOf = (day: number): 'holiday' | 'sunday' | 'saturday' | 'eve' | 'hours' => {
    const weekday = weekdayOf(day);
    if (holiday !== undefined && isHoliday(day)) return 'holiday';
    if (weekday === 7) return 'sunday';
    if (weekday === 6) return 'saturday';
    return eve !== undefined && isHoliday(day + 1) ? 'eve' : 'hours';
  };
  const named = {
    holiday: onHoliday,
    sunday: hours.sunday,
    saturday: hours.saturday,
    eve: onEve,
    hours: hours.weekdays,
  };
  return {
    source,
    spansOf: (day) => named[kindOf(day)],
    nameOf: (day) => `calendar.${place.replace('-?', '')}.${kindOf(day)}`,
  };
}

function holidaysOf(place: string): (day: number) => boolean {
  const own = HOLIDAYS.filter(({ places }) => places.includes(place));
  const fixed = new Set(own.flatMap((one) => one.fixed));
  const moving = new Set(
    own.flatMap((one) => Object.entries(one.moving).flatMap(([year, days]) => days.map((day) => `${year}-${day}`))),
  );
  return (day) => {
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    return fixed.has(date.slice(5)) || moving.has(date);
  };
}

function spansIn(hours: string | null): readonly Span[] {
  if (hours === null) return [];
  const [from = '', to = ''] = hours.split('-');
  return [[msOf(from), msOf(to)]];
}

function msOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return (hour * 60 + minute) * MINUTE_MS;
}

/**
 * Returns the first instant at which the clocks of a place have reached a local time, counted in ms as if it were UTC.
 * A number that may be in several zones counts by the last of them. Without a zone, UTC counts.
 */
export function instantAt(place: Place, local: number): Date {
  const zones = zonesOf(place);
  return new Date(Math.max(...(zones.length === 0 ? ['UTC'] : zones).map((zone) => instantIn(zone, local))));
}

/**
 * Returns the instant of a local time in a zone: the first one of a time that comes twice; one that is skipped is moved
 * behind the change of the clock.
 */
function instantIn(zone: string, local: number): number {
  const [before, after] = [local - offsetAt(zone, local - DAY_MS), local - offsetAt(zone, local + DAY_MS)];
  const real = [before, after].filter((at) => at + offsetAt(zone, at) === local);
  return real.length > 0 ? Math.min(...real) : Math.max(before, after);
}

/** Returns the IANA time zones of a place: those of its area, or else all of its country; none without a country. */
export const zonesOf = ({ country, area }: Place): readonly string[] =>
  findArea(area)?.zones ?? zonesOfCountry(country);

function zonesOfCountry(country: string): readonly string[] {
  const known = ZONES.get(country);
  if (known) return known;
  const zones = country === '' ? [] : zonesOfRegion(country);
  ZONES.set(country, zones);
  return zones;
}

/** The zones of countries that were looked up, at most some 250. */
const ZONES = new Map<string, readonly string[]>();

/** A method of the standard (ECMA-402, Intl.Locale Info) that the compiler's library does not declare yet. */
type LocaleInfo = Intl.Locale & { getTimeZones?(): string[] | undefined };

/** Lists the zones of a country as the CLDR data of the runtime has them. */
function zonesOfRegion(country: string): readonly string[] {
  const locale: LocaleInfo = new Intl.Locale(`und-${country}`);
  return locale.getTimeZones?.() ?? [];
}
