import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** One value in the URL: its default, and how to parse it. */
export type UrlField<T> = { readonly fallback: T; parse(text: string): T | undefined };
type UrlValue = string | number | readonly string[];
type Fields = Readonly<Record<string, UrlField<UrlValue>>>;
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends UrlField<infer T> ? T : never };

/** A URL field for any text. */
export const text = (fallback = ''): UrlField<string> => ({ fallback, parse: (given) => given });

/** A URL field for an integer from 0. */
export const whole = (fallback = 0): UrlField<number> => ({
  fallback,
  parse: (given) => (/^\d{1,12}$/.test(given) ? Number(given) : undefined),
});

/** A URL field for one of these values; '' by default unless a fallback is given. */
export const choice = <const T extends string, F extends T | '' = ''>(
  values: readonly T[],
  fallback: F | '' = '',
): UrlField<T | F> => ({
  fallback: fallback as F,
  parse: (given) => values.find((word) => word === given),
});

/** The URL fields of every list: `page` from 0, `limit`, and `sort`, a column with `-` in front for descending. */
export const listFields = (sort = '', limit = 25) => ({ page: whole(), limit: whole(limit), sort: text(sort) });

/**
 * The state of a page in its URL, so that it can be bookmarked, shared and navigated. Default values and values that
 * cannot be parsed are omitted. A change of anything but `page` returns to the first page.
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
        search: (before: Readonly<Record<string, unknown>>) => toSearch(fields, { ...before, ...turned }),
      });
    },
    [fields, navigate],
  );
  return [values, set] as const;
}

/** The router passes a string, or a number given by a link. */
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

/** The new query parameters. Defaults are omitted, and parameters of other parts of the page are kept. */
function toSearch(fields: Fields, all: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(all).map(([name, value]) => [name, textOf(value) ?? ''] as const);
  return Object.fromEntries(texts.filter(([name, given]) => given !== (textOf(fields[name]?.fallback) ?? '')));
}
