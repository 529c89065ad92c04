import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** One value of the address: how its text is read, and what it is when the address does not say. */
export type UrlField<T> = { readonly fallback: T; parse(text: string): T | undefined };
type UrlValue = string | number | readonly string[];
type Fields = Readonly<Record<string, UrlField<UrlValue>>>;
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends UrlField<infer T> ? T : never };

/** Any text. */
export const text = (fallback = ''): UrlField<string> => ({ fallback, parse: (given) => given });

/** A whole number from 0. */
export const whole = (fallback = 0): UrlField<number> => ({
  fallback,
  parse: (given) => (/^\d{1,12}$/.test(given) ? Number(given) : undefined),
});

/** One of these words; '' when none is chosen, unless a fallback is named. */
export const choice = <const T extends string, F extends T | '' = ''>(
  words: readonly T[],
  fallback: F | '' = '',
): UrlField<T | F> => ({
  fallback: fallback as F,
  parse: (given) => words.find((word) => word === given),
});

/** `page` from 0 and `limit`, as every list of the interface has them, and `sort`: a column, `-` before it for descending. */
export const listFields = (sort = '', limit = 25) => ({ page: whole(), limit: whole(limit), sort: text(sort) });

/**
 * State of a page that lives in its address, so that it can be kept, sent and gone back to. Values that are the
 * fallback, or that cannot be read, do not stand there. A change of anything but `page` goes to the first page.
 *
 *     const [search, setSearch] = useUrlState(FIELDS); // FIELDS outside of the component
 *     setSearch({ status: 'sent' });
 */
export function useUrlState<F extends Fields>(fields: F) {
  const raw: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const values = useMemo(() => readAll(fields, raw), [fields, raw]);
  const set = useCallback(
    (patch: Partial<Values<F>>): void => {
      const turned = 'page' in fields && !('page' in patch) ? { page: 0, ...patch } : patch;
      void navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: (before: Readonly<Record<string, unknown>>) => written(fields, { ...before, ...turned }),
      });
    },
    [fields, navigate],
  );
  return [values, set] as const;
}

/** What the router hands on is a text, or a number that a link was given. */
const textOf = (raw: unknown): string | undefined =>
  typeof raw === 'string'
    ? raw
    : typeof raw === 'number'
      ? String(raw)
      : Array.isArray(raw)
        ? raw.join(',')
        : undefined;

function readOne(field: UrlField<UrlValue>, raw: unknown): UrlValue {
  const given = textOf(raw);
  return given === undefined ? field.fallback : (field.parse(given) ?? field.fallback);
}

const readAll = <F extends Fields>(fields: F, raw: Readonly<Record<string, unknown>>): Values<F> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, readOne(field, raw[name])])) as Values<F>;

/** Fallbacks are left out; what other parts of the page keep in the address stays. */
function written(fields: Fields, all: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(all).map(([name, value]) => [name, textOf(value) ?? ''] as const);
  return Object.fromEntries(texts.filter(([name, given]) => given !== (textOf(fields[name]?.fallback) ?? '')));
}
