import { useTranslation } from 'react-i18next';

/** The formatters for numbers, amounts and times in the chosen language. */
export function useFormat() {
  return formatOf(useLocale());
}

/** The locale of the chosen language. */
export const useLocale = (): string => localeOf(useTranslation('ui').i18n.language);

const formats = new Map<string, Format>();

/** The formatters of a locale. `Intl` formatters are slow to make, and every cell with a time uses them. */
function formatOf(locale: string): Format {
  const known = formats.get(locale);
  if (known !== undefined) return known;
  const made = createFormat(locale);
  formats.set(locale, made);
  return made;
}

/** Valid language tags; some browsers report invalid ones such as `en-US@posix`. */
const TAG = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})+$/;

/** The locale for a language; for English, the browser's regional variant, which decides the date format. */
const localeOf = (language: string): string =>
  navigator.languages.find((each) => each.startsWith(`${language}-`) && TAG.test(each)) ?? language;

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

function createFormat(language: string) {
  const exact = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
  const brief = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
  const dayUtc = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'short' });
  const thisYear = new Intl.DateTimeFormat(language, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
  });
  const seconds = new Intl.NumberFormat(language, {
    style: 'unit',
    unit: 'second',
    unitDisplay: 'narrow',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const list = new Intl.ListFormat(language, { type: 'conjunction' });
  return {
    number: (value: number, options?: Intl.NumberFormatOptions) =>
      new Intl.NumberFormat(language, options).format(value),
    /** `share` from 0 to 1. */
    percent: (share: number, digits = 1) =>
      new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: digits }).format(share),
    /**
     * Share of a count in a total. It is 100 % only when nothing is missing, and 0 % only when there is nothing: 999 of
     * 1,000,000 missing is not "100 %".
     */
    share: (count: number, total: number) => writeShare(language, count, total),
    /** The share by which a figure grew, from -1. */
    change: (share: number) =>
      new Intl.NumberFormat(language, {
        style: 'percent',
        maximumFractionDigits: 0,
        signDisplay: 'exceptZero',
      }).format(share),
    /** Null is an amount that the user may not see. */
    money: (amount: number | null, currency: string) =>
      amount === null ? '–' : moneyFormat(language, currency, amount).format(amount),
    /** The price of one message, with four decimals. */
    price: (amount: number | null, currency: string) =>
      amount === null
        ? '–'
        : new Intl.NumberFormat(language, { style: 'currency', currency, minimumFractionDigits: 4 }).format(amount),
    exact: (instant: Date) => exact.format(instant),
    brief: (instant: Date) => brief.format(instant),
    /** As people in another time zone read it. */
    briefIn: (instant: Date, timeZone: string) =>
      new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(instant),
    day: (instant: Date) => day.format(instant),
    /** A day that begins at midnight UTC. */
    dayUtc: (instant: Date) => dayUtc.format(instant),
    clock: (instant: Date) => clock.format(instant),
    /** For lists: the time today, the date and the time this year, otherwise the date. */
    moment(instant: Date, now = new Date()): string {
      if (instant.toDateString() === now.toDateString()) return clock.format(instant);
      return (instant.getFullYear() === now.getFullYear() ? thisYear : day).format(instant);
    },
    relative: (instant: Date, now = new Date()) => writeRelative(relative, (instant.getTime() - now.getTime()) / 1000),
    list: (items: readonly string[]) => list.format(items),
    bytes: (count: number) => writeBytes(language, count),
    duration: (seconds: number) => writeDuration(language, seconds),
    /** The time between two events: tenths of a second up to a minute. */
    elapsed: (ms: number) =>
      ms < 60_000 ? seconds.format(Math.max(0, ms) / 1000) : writeDuration(language, ms / 1000),
  };
}

function writeShare(language: string, count: number, total: number): string {
  const format = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  const share = count / total;
  if (count > 0 && share < 0.001) return `< ${format.format(0.001)}`;
  if (count < total && share > 0.999) return `> ${format.format(0.999)}`;
  return format.format(share);
}

export type Format = ReturnType<typeof createFormat>;

/** A currency format; amounts below one unit, such as message prices, have up to four decimals. */
const moneyFormat = (language: string, currency: string, amount: number) =>
  new Intl.NumberFormat(language, {
    style: 'currency',
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.abs(amount) < 1 ? 4 : 2,
  });

function writeRelative(format: Intl.RelativeTimeFormat, seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (['second', 1] as const);
  return format.format(Math.trunc(seconds / length), unit);
}

function writeBytes(language: string, count: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
  const at = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3));
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: units[at] ?? 'byte',
    unitDisplay: at === 0 ? 'long' : 'short',
    maximumFractionDigits: at === 0 ? 0 : 1,
  }).format(count / 1000 ** at);
}

/** A duration in its two largest units: `2 h 5 min`, `40 s`, `3 days 4 h`. */
function writeDuration(language: string, seconds: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, length] of UNITS.slice(2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0 || (unit === 'second' && parts.length === 0))
      parts.push(new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(count));
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(' ');
}
