import { type Static, Type } from 'typebox';
import type { Purpose } from '../core/channels.ts';
import { rowsOf, text } from '../core/db/columns.ts';
import { type Sql, sql } from '../core/db/query.ts';
import { purposeOfCategory } from '../messages/billing.ts';
import { type Hold, holdOf, isUnderLaws, type Limits, type Place, type QuietHours } from '../messages/calendar.ts';
import { AREA_CODES, areaOf, findArea, listAreas } from '../messages/calendar-areas.ts';
import { toHoldOut } from '../messages/send-response.ts';
import { HoldOut } from '../messages/send-schema.ts';

/** What decides the hours of a campaign. */
type Timed = {
  /** The purpose that the campaign states. */
  readonly purpose: Purpose | null;
  /** The category of its WhatsApp template in lower case; null: it has none. */
  readonly whatsappCategory: string | null;
  readonly respectCalendar: boolean | null;
  /** The campaign's own quiet hours, or else those of its account. */
  readonly effectiveQuietHours: QuietHours | null;
  readonly accountPurpose: Purpose | null;
  readonly accountRespectsCalendar: boolean;
};

/** Returns the purpose of the messages of a campaign: its own, that of its template, or that of the account. */
export const purposeOf = ({ purpose, whatsappCategory, accountPurpose }: Timed): Purpose | null =>
  purpose ?? purposeOfCategory(whatsappCategory) ?? accountPurpose;

/**
 * Returns what limits the hours of a campaign. One that states that it is marketing respects the calendar unless it
 * says otherwise, which it cannot where the account requires it of all marketing.
 */
export function limitsOf(campaign: Timed): Limits {
  const purpose = purposeOf(campaign);
  const asks = campaign.respectCalendar ?? campaign.purpose === 'marketing';
  const must = campaign.accountRespectsCalendar && purpose === 'marketing';
  return { laws: (asks || must) && isUnderLaws(purpose), quietHours: campaign.effectiveQuietHours };
}

/** Returns true if messages of a campaign may have to wait in some places and not in others. */
export const hasHours = (limits: Limits): boolean =>
  limits.laws || (limits.quietHours !== null && 'from' in limits.quietHours);

/** Returns the ms until messages of a campaign may be sent to a place; 0: now. */
export const waitMsOf = (place: Place, limits: Limits, now: Date): number =>
  (holdOf(place, limits, now)?.until.getTime() ?? now.getTime()) - now.getTime();

/** Returns the key by which recipients wait: those with the same one wait together. */
export const placeOfRecipient = (country: string, destination: string): Place => ({
  country,
  area: areaOf(country, destination),
});

/** Recipients in a place, as the goal counts them. */
export type PlaceCount = Place & { readonly count: number };

export const HeldOut = Type.Object({
  country: Type.String({ description: 'ISO 3166-1 alpha-2.' }),
  region: Type.Union([Type.String(), Type.Null()], {
    description: 'The state, such as US-TX, as far as the numbers show one.',
  }),
  count: Type.Integer({ description: 'Recipients, as the goal counts them.' }),
  ...HoldOut.properties,
});

type Held = Static<typeof HeldOut>;

/** Lists who would wait if a campaign began at an instant, and for which rule; those of one region together. */
export function heldAt(places: readonly PlaceCount[], limits: Limits, at: Date): Held[] {
  if (!hasHours(limits)) return [];
  const held = new Map<string, Held>();
  for (const { country, area, count } of places) {
    const hold: Hold | null = holdOf({ country, area }, limits, at);
    if (hold === null) continue;
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
