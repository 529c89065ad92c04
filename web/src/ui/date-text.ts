// Dates as people read and type them. Values are as in `<input type="date">` and `<input type="datetime-local">`:
// `2026-12-01` and `2026-12-01T10:00`, in the user's time zone.

const two = (value: number): string => String(value).padStart(2, '0');

/** The value of a day in the time zone of the browser. */
export const dayValue = (at: Date): string => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** The value of an instant in the time zone of the browser, to the minute. */
export const momentValue = (at: Date): string => `${dayValue(at)}T${two(at.getHours())}:${two(at.getMinutes())}`;

/** The instant of a value; null if it has none. */
export function instantOf(value: string): Date | null {
  const at = new Date(value.includes('T') ? value : `${value}T00:00`);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** Writes and reads dates in the format of a locale: `1 Dec 2026, 10:00`. */
export function createDateText(locale: string) {
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  return {
    write(value: string): string {
      const at = instantOf(value);
      return at === null ? '' : (value.includes('T') ? moment : day).format(at);
    },
    /** Reads a date, with the time that `withTime` asks for, or midnight; null if the text is none. */
    read: (text: string, withTime: boolean): string | null => readDate(text, withTime, locale),
  };
}

const TIME = /(?<hours>\d{1,2})[:.h](?<minutes>\d{2})(?::\d{2})?\s*(?<half>[ap])?\.?\s?m?\.?\s*$/iu;

function readDate(text: string, withTime: boolean, locale: string): string | null {
  const { groups: time, index = text.length } = (withTime && TIME.exec(text)) || {};
  const day = readDay(text.slice(0, index), locale);
  if (day === null || !withTime) return day;
  const half = time?.['half']?.toLowerCase();
  const given = Number(time?.['hours'] ?? 0);
  const hours = half === undefined ? given : (given % 12) + (half === 'p' ? 12 : 0);
  const minutes = Number(time?.['minutes'] ?? 0);
  return hours > 23 || minutes > 59 ? null : `${day}T${two(hours)}:${two(minutes)}`;
}

/** Reads `2026-12-01`, or numbers in the order of the locale, or with the name of the month; the year may be missing. */
function readDay(text: string, locale: string): string | null {
  const iso = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})/.exec(text);
  if (iso) return checked(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const named = monthIn(text, locale);
  const numbers = (text.match(/\d+/g) ?? []).map(Number);
  const order = orderOf(locale).filter((part) => named === null || part !== 'month');
  const inOrder = numbers.length < order.length ? order.filter((part) => part !== 'year') : order;
  if (numbers.length !== inOrder.length) return null;
  const of = (part: Part): number | undefined => numbers[inOrder.indexOf(part)];
  const year = of('year') ?? new Date().getFullYear();
  return checked(year < 100 ? 2000 + year : year, named ?? of('month') ?? 0, of('day') ?? 0);
}

type Part = 'day' | 'month' | 'year';

const orderOf = (locale: string): readonly Part[] =>
  new Intl.DateTimeFormat(locale)
    .formatToParts(new Date(2000, 0, 1))
    .flatMap(({ type }) => (isPart(type) ? [type] : []));

const isPart = (type: string): type is Part => type === 'day' || type === 'month' || type === 'year';

/** Returns the month whose name is in a text, from 1. Names are compared by their first three letters. */
function monthIn(text: string, locale: string): number | null {
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  const name = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric' });
  for (let month = 0; month < 12; month += 1) {
    const short = name.formatToParts(new Date(2000, month, 1)).find(({ type }) => type === 'month')?.value ?? '';
    const start = short.toLowerCase().slice(0, 3);
    if (/\p{L}/u.test(start) && words.some((word) => word.startsWith(start))) return month + 1;
  }
  return null;
}

/** The value of a day, unless there is no such day. */
function checked(year: number, month: number, day: number): string | null {
  const at = new Date(year, month - 1, day);
  return at.getMonth() === month - 1 && at.getDate() === day && year >= 1900 ? dayValue(at) : null;
}
