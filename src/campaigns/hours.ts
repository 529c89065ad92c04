import { type Static, Type } from 'typebox';
import { rowsOf, text } from '../core/db/columns.ts';
import { type Sql, sql } from '../core/db/query.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { type PurposeSources, purposeOfCampaign } from '../messages/billing.ts';
import {
  type Hold,
  holdOf,
  instantAt,
  isUnderLaws,
  type Limits,
  type Place,
  type QuietHours,
} from '../messages/calendar.ts';
import { AREA_CODES, areaOf, findArea, listAreas } from '../messages/calendar-areas.ts';
import { toHoldOut } from '../messages/send-response.ts';
import { HoldOut } from '../messages/send-schema.ts';

/** A time that each recipient's own clock must show before the message is sent. */
export type LocalTime = {
  /** Date and time without a zone: 2027-01-31T10:00. */
  readonly at: string;
  /** Treatment of people for whom it has passed at the confirmation; by default they get the message a day later. */
  readonly passed?: 'tomorrow' | 'now' | 'skip';
};

/** Reads a local time as if it were UTC, in ms; NaN if there is no such time. */
export function localMs({ at }: LocalTime): number {
  const ms = Date.parse(`${at}Z`);
  return new Date(ms || 0).toISOString().startsWith(at) ? ms : Number.NaN;
}

/** The zone in which each day begins first is 14 hours ahead of UTC. */
const FIRST_ZONE_MS = 14 * HOUR_MS;

/** Returns the first instant at which it is this local time anywhere. */
export const earliestOf = (time: LocalTime): Date => new Date(localMs(time) - FIRST_ZONE_MS);

/** Facts that decide the hours of a campaign. */
type Timed = PurposeSources & {
  readonly respectCalendar: boolean | null;
  /** The campaign's own quiet hours, or else those of its account. */
  readonly effectiveQuietHours: QuietHours | null;
  readonly accountRespectsCalendar: boolean;
  readonly localTime: LocalTime | null;
  readonly confirmedAt: Date | null;
};

/**
 * Returns the limits on the hours of a campaign. One that states that it is marketing respects the calendar by default,
 * and always where the account requires it of all marketing.
 */
export function limitsOf(campaign: Timed): Limits {
  const purpose = purposeOfCampaign(campaign);
  const asks = campaign.respectCalendar ?? campaign.purpose === 'marketing';
  const must = campaign.accountRespectsCalendar && purpose === 'marketing';
  return { laws: (asks || must) && isUnderLaws(purpose), quietHours: campaign.effectiveQuietHours };
}

/** Returns true if messages of a campaign may have to wait in some places and not in others. */
export function hasHours(campaign: Timed): boolean {
  const { laws, quietHours } = limitsOf(campaign);
  return campaign.localTime !== null || laws || (quietHours !== null && 'from' in quietHours);
}

/** A message of a campaign that must wait; without a rule, it waits for its local time. */
type Wait = Pick<Hold, 'until'> & Partial<Hold>;

/**
 * Returns until when the first messages of a campaign to a place wait; null if they may be sent at the instant itself,
 * 'skip' if the local time has passed there and its people are left out.
 */
export function firstWaitOf(place: Place, campaign: Timed, at: Date): Wait | null | 'skip' {
  const start = campaign.localTime === null ? at : localStart(place, campaign.localTime, campaign.confirmedAt ?? at);
  if (start === null) return 'skip';
  const from = start > at ? start : at;
  return holdOf(place, limitsOf(campaign), from) ?? (from > at ? { until: from } : null);
}

/** Returns when it is a local time in a place, of those after an instant; null if it has passed and nothing follows. */
function localStart(place: Place, time: LocalTime, after: Date): Date | null {
  const local = localMs(time);
  const first = instantAt(place, local);
  if (first >= after) return first;
  if (time.passed === 'now') return after;
  if (time.passed === 'skip') return null;
  const days = Math.floor((after.getTime() - first.getTime()) / DAY_MS);
  const candidates = [days, days + 1, days + 2].map((day) => instantAt(place, local + day * DAY_MS));
  return candidates.find((candidate) => candidate >= after) ?? after;
}

/** Returns the ms until messages on later channels may be sent to a place; 0: now. */
export const waitMsOf = (place: Place, campaign: Timed, now: Date): number =>
  (holdOf(place, limitsOf(campaign), now)?.until.getTime() ?? now.getTime()) - now.getTime();

/** Returns the key by which recipients wait: those with the same one wait together. */
export const placeOfRecipient = (country: string, destination: string): Place => ({
  country,
  area: areaOf(country, destination),
});

/** Recipients in a place, as the audience counts them. */
export type PlaceCount = Place & { readonly count: number };

export const HeldOut = Type.Object({
  country: Type.String({ description: 'ISO 3166-1 alpha-2.' }),
  region: Type.Union([Type.String(), Type.Null()], {
    description: 'The state, such as US-TX, as far as the numbers show one.',
  }),
  count: Type.Integer({ description: 'Recipients, as calculateGoal counts them.' }),
  ...HoldOut.properties,
  rule: Type.String({ description: 'calendar.FR.sunday, calendar.quietHours, or localTime.' }),
});

type Held = Static<typeof HeldOut>;

/** Lists who would wait if a campaign began at an instant, and for which rule; those of one region together. */
export function heldAt(places: readonly PlaceCount[], campaign: Timed, at: Date): Held[] {
  if (!hasHours(campaign)) return [];
  const held = new Map<string, Held>();
  for (const { country, area, count } of places) {
    const wait = firstWaitOf({ country, area }, campaign, at);
    if (wait === null || wait === 'skip') continue;
    const hold: Hold = { source: null, rule: 'localTime', ...wait };
    const own = findArea(area)?.region;
    const region = own === undefined || own === country ? null : own;
    const key = `${region ?? country}/${hold.until.getTime()}/${hold.rule}`;
    held.set(key, { country, region, ...toHoldOut(hold), count: (held.get(key)?.count ?? 0) + count });
  }
  return [...held.values()].toSorted((a, b) => (a.until < b.until ? -1 : a.until > b.until ? 1 : b.count - a.count));
}

/**
 * The rows `country, area, starts, ends`: where the numbers of each area lie, separated by commas. None if numbers of a
 * country are not told apart.
 */
export const areaRows = (byArea: boolean): Sql =>
  sql`${rowsOf(
    (byArea ? AREA_CODES : []).flatMap(({ country }) =>
      listAreas(country).map(({ key, ranges }) => ({
        country,
        area: key,
        starts: ranges.map(({ from }) => from).join(),
        ends: ranges.map(({ to }) => to).join(),
      })),
    ),
    {
      country: text((row) => row.country),
      area: text((row) => row.area),
      starts: text((row) => row.starts),
      ends: text((row) => row.ends),
    },
  )} AS a`;
