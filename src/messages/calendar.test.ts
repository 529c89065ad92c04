import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { type Hold, holdOf, type Limits, type Place, placeOf, type QuietHours, zonesOf } from './calendar.ts';
import { AREA_CODES, areaOf, findArea, listAreas } from './calendar-areas.ts';
import { CALENDAR_RULES, HOLIDAYS, HOLIDAYS_UNTIL } from './calendar-rules.ts';

const at = (text: string): Date => new Date(text);
const LAWS: Limits = { laws: true, quietHours: null };
const quiet = (from: string, to: string): Limits => ({ laws: false, quietHours: { from, to } });
const country = (code: string): Place => ({ country: code, area: '' });

/** Time of a zone's clocks as another format of the runtime writes it, such as `2027-03-28 Sun 03:15`. */
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const clocks = new Map<string, Intl.DateTimeFormat>();
function clockOf(zone: string, ms: number): { date: string; weekday: string; time: string } {
  const format =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' });
  clocks.set(zone, format);
  const [date = '', time = ''] = format.format(ms).split(' ');
  return { date, weekday: WEEKDAYS[new Date(date).getUTCDay()] ?? '', time };
}

/** Easter Sunday by Gauss, as a day since 1970. */
function easter(year: number): number {
  const [a, b, c] = [year % 19, Math.floor(year / 100), year % 100];
  const h = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const month = Math.floor((h + l - 7 * m + 114) / 31);
  return Date.UTC(year, month - 1, ((h + l - 7 * m + 114) % 31) + 1) / DAY_MS;
}
const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

const EASTER_DAYS: Readonly<Record<string, readonly number[]>> = {
  FR: [1, 39, 50],
  ES: [-2],
  IT: [1],
  AU: [-2, 1],
  BR: [-2],
};

test('holidays that move with Easter lie where Easter puts them, in every year that is listed', () => {
  for (const [place, offsets] of Object.entries(EASTER_DAYS)) {
    const own = HOLIDAYS.find(({ places }) => places.includes(place));
    for (let year = 2026; year <= HOLIDAYS_UNTIL; year++)
      expect(own?.moving[year], `${place} ${year}`).toEqual(offsets.map((n) => dayText(easter(year) + n).slice(5)));
  }
});

/** The day of a month on which a weekday (0: Sunday) is for the n-th time; n = -1: for the last time. */
function nth(year: number, month: number, weekday: number, n: number): string {
  const days = Array.from({ length: 31 }, (_, i) => new Date(Date.UTC(year, month - 1, i + 1)));
  const own = days.filter((day) => day.getUTCMonth() === month - 1 && day.getUTCDay() === weekday);
  return (
    own
      .at(n > 0 ? n - 1 : n)
      ?.toISOString()
      .slice(5, 10) ?? ''
  );
}

test('the holidays of states lie on the weekdays that their laws name', () => {
  for (let year = 2026; year <= HOLIDAYS_UNTIL; year++) {
    const at = (offset: number): string => dayText(easter(year) + offset).slice(5);
    const dayAfter = (day: string, days: number): string =>
      dayText(Date.parse(`${year}-${day}T00:00Z`) / DAY_MS + days).slice(5);
    const election = dayAfter(nth(year, 11, 1, 1), 1);
    const thanksgiving = nth(year, 11, 4, 4);
    const wanted = {
      'US-AL': [at(-47), nth(year, 4, 1, 4), nth(year, 6, 1, 1)],
      'US-LA': [at(-47), at(-2), election, dayAfter(thanksgiving, 1)],
      'US-MS': [nth(year, 4, 1, -1)],
      'US-PA': [at(-2), election],
      'US-RI': [nth(year, 8, 1, 2), election],
    };
    for (const [state, days] of Object.entries(wanted)) {
      const own = HOLIDAYS.find(({ places }) => places.length === 1 && places[0] === state);
      expect(own?.moving[year], `${state} ${year}`).toEqual(days);
    }
  }
});

test('the moving holidays of the next year are listed', () => {
  expect(HOLIDAYS_UNTIL).toBeGreaterThan(new Date().getUTCFullYear());
  for (const { moving, places } of HOLIDAYS) expect(Object.keys(moving).at(-1), places[0]).toBe(String(HOLIDAYS_UNTIL));
});

/** The rule of a place, written as in its data, and asked minute by minute. */
function isAllowed(place: string, zone: string, ms: number): boolean {
  const rule = CALENDAR_RULES.find(({ places }) => places.includes(place));
  if (!rule) return true;
  const { date, weekday, time } = clockOf(zone, ms);
  const isHoliday = (day: string): boolean => {
    const own = HOLIDAYS.filter(({ places }) => places.includes(place));
    return own.some((one) => [...one.fixed, ...(one.moving[Number(day.slice(0, 4))] ?? [])].includes(day.slice(5)));
  };
  let hours: string | null = rule.weekdays;
  if (rule.eve !== undefined && isHoliday(dayText(Date.parse(date) / DAY_MS + 1))) hours = rule.eve;
  if (weekday === 'Sat' && rule.saturday !== undefined) hours = rule.saturday;
  if (weekday === 'Sun' && rule.sunday !== undefined) hours = rule.sunday;
  if (rule.holiday !== undefined && isHoliday(date)) hours = rule.holiday;
  if (hours === null) return false;
  const [from = '', to = ''] = hours.split('-');
  return time >= from && time < to;
}

/** Zones with clock changes of all kinds, and the rule that applies there. */
const TWENTY: readonly (readonly [rule: string, place: Place, zone: string])[] = [
  ['FR', country('FR'), 'Europe/Paris'],
  ['RE', country('RE'), 'Indian/Reunion'],
  ['GP', country('GP'), 'America/Guadeloupe'],
  ['IT', country('IT'), 'Europe/Rome'],
  ['IN', country('IN'), 'Asia/Kolkata'],
  ['GB', country('GB'), 'Europe/London'],
  ['IE', country('IE'), 'Europe/Dublin'],
  ['BE', country('BE'), 'Europe/Brussels'],
  ['US-FL', { country: 'US', area: 'US-FL' }, 'America/New_York'],
  ['US-TX', { country: 'US', area: 'US-TX' }, 'America/Chicago'],
  ['US-TX', { country: 'US', area: 'US-TX.2' }, 'America/Denver'],
  ['US', { country: 'US', area: 'US-AZ' }, 'America/Phoenix'],
  ['US', { country: 'US', area: 'US-HI' }, 'Pacific/Honolulu'],
  ['CA', { country: 'CA', area: 'CA-SK' }, 'America/Regina'],
  ['AU', { country: 'AU', area: 'AU.2' }, 'Australia/Sydney'],
  ['AU', { country: 'AU', area: 'AU.7' }, 'Australia/Brisbane'],
  ['BR', { country: 'BR', area: 'BR.4' }, 'America/Rio_Branco'],
  ['MX', { country: 'MX', area: 'MX.2' }, 'America/Tijuana'],
  ['RU', { country: 'RU', area: 'RU.15' }, 'Asia/Kamchatka'],
  ['US-LA', { country: 'US', area: 'US-LA' }, 'America/Chicago'],
];

test.each(TWENTY)('two years of %s agree with a walk along the clocks of its zone', (rule, place, zone) => {
  // The rules open and close at full hours; India is half an hour off.
  const step = zone === 'Asia/Kolkata' ? 30 * MINUTE_MS : HOUR_MS;
  const [first, last] = [Date.parse('2026-12-01T00:00Z'), Date.parse('2028-12-15T00:00Z')];
  let next = last;
  for (let ms = last; ms >= first; ms -= step) {
    const allowed = isAllowed(rule, zone, ms);
    if (allowed) next = ms;
    if (ms > Date.parse('2028-12-01T00:00Z')) continue;
    const hold = holdOf(place, LAWS, new Date(ms));
    if (hold === null ? !allowed : hold.until.getTime() !== next)
      expect.fail(`${new Date(ms).toISOString()}: ${hold?.until.toISOString()}, not ${new Date(next).toISOString()}`);
  }
});

/** A sequence of numbers from 0 to 1 that is the same each time. */
function* randoms(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const walkable = (quietHours: QuietHours, zones: readonly string[], ms: number): boolean =>
  'off' in quietHours ||
  zones.every((zone) => {
    const { time } = clockOf(zone, ms);
    const { from, to } = quietHours;
    return from < to ? time < from || time >= to : time >= to && time < from;
  });

test('any quiet hours end at the first minute at which the clocks of all zones show another time', () => {
  const random = randoms(7);
  const pick = (n: number): number => Math.floor(random.next().value * n);
  const time = (): string => `${String(pick(24)).padStart(2, '0')}:${String(pick(60)).padStart(2, '0')}`;
  const places = [country('IT'), country('PT'), { country: 'US', area: 'US-ID' }, country('CL'), country('MA')];
  // Around the changes of the clocks in the north and in the south, and at any other time.
  const days = [
    '2027-03-13',
    '2027-03-27',
    '2027-10-30',
    '2027-11-06',
    '2027-04-03',
    '2027-10-02',
    '2027-02-07',
    '2027-07-01',
  ];
  for (let n = 0; n < 150; n++) {
    const place = places[pick(places.length)] as Place;
    const quietHours = { from: time(), to: time() };
    if (quietHours.from === quietHours.to) continue;
    const start = Date.parse(`${days[pick(days.length)]}T00:00Z`) + pick(36 * 60) * MINUTE_MS;
    const zones = zonesOf(place);
    let walked = start;
    while (!walkable(quietHours, zones, walked) && walked < start + 3 * DAY_MS) walked += MINUTE_MS;
    if (walked >= start + 3 * DAY_MS) continue;
    const hold = holdOf(place, { laws: false, quietHours }, new Date(start));
    expect(
      (hold?.until ?? new Date(start)).toISOString(),
      `${JSON.stringify({ place, quietHours })} from ${new Date(start).toISOString()}`,
    ).toBe(new Date(walked).toISOString());
  }
});

test('what a hold gives is allowed, is not before the time, and asking again changes nothing', () => {
  const random = randoms(11);
  const codes = [...new Set(CALENDAR_RULES.flatMap(({ places }) => places.filter((place) => place.length === 2)))];
  for (let n = 0; n < 3000; n++) {
    const code = codes[Math.floor(random.next().value * codes.length)] ?? '';
    const areas = [...listAreas(code), { key: '' }];
    const place = { country: code, area: areas[Math.floor(random.next().value * areas.length)]?.key ?? '' };
    const limits = random.next().value < 0.5 ? LAWS : { laws: true, quietHours: { from: '19:00', to: '09:30' } };
    const time = new Date(Date.parse('2026-12-01T00:00Z') + Math.floor(random.next().value * 900 * DAY_MS));
    const hold = holdOf(place, limits, time);
    if (hold === null) continue;
    expect(hold.until.getTime(), JSON.stringify({ place, time })).toBeGreaterThan(time.getTime());
    expect(hold.until.getTime() - time.getTime()).toBeLessThan(8 * DAY_MS);
    expect(holdOf(place, limits, hold.until), JSON.stringify({ place, time })).toBeNull();
    const between = new Date((time.getTime() + hold.until.getTime()) / 2);
    expect(holdOf(place, limits, between)?.until, JSON.stringify({ place, time })).toEqual(hold.until);
  }
});

const held = (until: string, rule: string): Pick<Hold, 'until' | 'rule'> => ({ until: at(until), rule });
const holdAt = (place: Place, time: string): Pick<Hold, 'until' | 'rule'> | null => {
  const hold = holdOf(place, LAWS, at(time));
  return hold && { until: hold.until, rule: hold.rule };
};

test('a hold names the rule that keeps the message longest', () => {
  // Saturday evening in France: until Monday 8:00, because of Sunday.
  expect(holdAt(country('FR'), '2026-11-28T20:00:00Z')).toEqual(held('2026-11-30T07:00:00Z', 'calendar.FR.sunday'));
  expect(holdAt(country('FR'), '2026-12-01T19:00:00Z')).toEqual(held('2026-12-02T07:00:00Z', 'calendar.FR.hours'));
  // Ascension Day is a Thursday.
  expect(holdAt(country('FR'), '2027-05-06T10:00:00Z')).toEqual(held('2027-05-07T06:00:00Z', 'calendar.FR.holiday'));
  expect(holdAt(country('FR'), '2026-11-28T18:59:59Z')).toBeNull();
  // Christmas Eve is a Thursday: from 10 to 19 in Italy, and then two holidays, a Sunday behind them.
  expect(holdAt(country('IT'), '2026-12-24T08:30:00Z')).toEqual(held('2026-12-24T09:00:00Z', 'calendar.IT.eve'));
  expect(holdAt(country('IT'), '2026-12-24T18:00:00Z')).toEqual(held('2026-12-28T08:00:00Z', 'calendar.IT.sunday'));
  expect(holdAt({ country: 'US', area: 'US-TX' }, '2026-11-29T16:00:00Z')?.rule).toBe('calendar.US-TX.sunday');
  expect(holdAt(country('DK'), '2026-11-29T02:00:00Z')).toBeNull();
});

test('numbers of the United States that show no state get the narrowest hours of all its zones', () => {
  // 9:00 in Honolulu is 14:00 in New York, where it closes at 20:00.
  expect(holdAt(placeOf('+18005550100'), '2026-11-30T13:00:00Z')).toEqual(
    held('2026-11-30T19:00:00Z', 'calendar.US.hours'),
  );
  expect(placeOf('+12125550100')).toEqual({ country: 'US', area: 'US-NY' });
  expect(holdAt(placeOf('+12125550100'), '2026-11-30T12:30:00Z')?.until).toEqual(at('2026-11-30T13:00:00Z'));
});

test.each([
  ['+19155550100', 'US-TX.2'],
  ['+14165550100', 'CA-ON'],
  ['+61291234567', 'AU.2'],
  ['+61491570156', ''],
  ['+5568999990000', 'BR.4'],
  ['+526641234567', 'MX.2'],
  ['+525512345678', 'MX.1'],
  ['+74951234567', 'RU.1'],
  ['+79161234567', ''],
  ['+393331234567', ''],
])('%s is in the area %s', (number, area) => {
  expect(placeOf(number).area).toBe(area);
});

test('the zones of all areas exist, and their ranges hold every number once, in the area of its code', () => {
  const random = randoms(3);
  for (const { country: code } of AREA_CODES) {
    const areas = listAreas(code);
    for (const { key } of areas)
      for (const zone of findArea(key)?.zones ?? []) expect(clockOf(zone, 0).time).toMatch(/:/);
    const prefix = code === 'US' || code === 'CA' ? '+1' : `+${{ AU: 61, BR: 55, MX: 52, RU: 7 }[code]}`;
    for (let n = 0; n < 2000; n++) {
      const number = `${prefix}${String(Math.floor(random.next().value * 1e10)).padStart(10, '0')}`;
      const found = areas.filter(({ ranges }) => ranges.some(({ from, to }) => number >= from && number < to));
      expect(
        found.map(({ key }) => key),
        number,
      ).toEqual([areaOf(code, number)]);
    }
  }
});

const NIGHT = quiet('21:00', '08:00');
const waitMs = (limits: Limits, code: string, time: Date): number =>
  (holdOf(country(code), limits, time)?.until.getTime() ?? time.getTime()) - time.getTime();

test('quiet hours apply in the time zone of the number’s country, until the minute when they end', () => {
  // Rome is two hours ahead of UTC in summer.
  expect(waitMs(NIGHT, 'IT', at('2027-07-01T18:59:59Z'))).toBe(0);
  expect(waitMs(NIGHT, 'IT', at('2027-07-01T19:00:00Z'))).toBe(11 * HOUR_MS);
  expect(waitMs(NIGHT, 'IT', at('2027-07-02T05:59:30.500Z'))).toBe(29_500);
  expect(waitMs(NIGHT, 'IT', at('2027-07-02T06:00:00Z'))).toBe(0);
});

test('quiet hours that do not span midnight lie between the two times', () => {
  const noon = quiet('12:00', '15:00');
  expect(waitMs(noon, 'IT', at('2027-07-01T10:30:00Z'))).toBe(2.5 * HOUR_MS);
  expect(waitMs(noon, 'IT', at('2027-07-01T13:00:00Z'))).toBe(0);
});

test('a country whose numbers show no zone is quiet while it is night in any of them', () => {
  // 21:00 in New York, 15:00 in Honolulu; 08:00 in Honolulu is 18:00 UTC.
  expect(waitMs(NIGHT, 'US', at('2027-07-02T01:00:00Z'))).toBe(17 * HOUR_MS);
  expect(waitMs(NIGHT, 'US', at('2027-07-02T18:30:00Z'))).toBe(0);
});

test('if the zones of a country are never all awake, the first one decides', () => {
  const wait = waitMs(quiet('10:00', '09:00'), 'RU', at('2027-07-01T12:00:00Z'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThan(24 * HOUR_MS);
});

test('nothing is quiet when it is switched off, not set, or a number belongs to no country', () => {
  const night = at('2027-07-01T23:00:00Z');
  expect(waitMs({ laws: false, quietHours: null }, 'IT', night)).toBe(0);
  expect(waitMs({ laws: false, quietHours: { off: true } }, 'IT', night)).toBe(0);
  expect(waitMs(NIGHT, '', night)).toBe(0);
  expect(holdOf(country('IT'), NIGHT, night)).toMatchObject({ rule: 'calendar.quietHours', source: null });
});
