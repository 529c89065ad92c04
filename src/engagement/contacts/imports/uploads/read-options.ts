import type { Static } from 'typebox';
import type { NumberRules } from '../../../../platform/lib/phone/number-rules.ts';
import { isPhoneCountry } from '../../../../platform/lib/phone/phone-details.ts';
import { invalidFields } from '../../../../platform/errors.ts';
import type { FieldRow } from '../../fields/sql.ts';
import type { TableOptions } from '../check-table.ts';
import { type Cleaning, NO_CLEANING } from '../cleaning/options.ts';
import type { ImportIn, ReadingIn } from './schema.ts';

type Book = { readonly rules: NumberRules; readonly fields: readonly FieldRow[] };
type Options = Static<typeof ReadingIn> & Static<typeof ImportIn>;

const DEFAULT_PREVIEW = 10;

/** Reads the options for interpreting a stored file. Errors: 400 for an impossible country or cell position. */
export function readOptions(input: Options, { rules, fields }: Book): TableOptions {
  refuseFaults(input);
  const { country = rules.defaultCountry } = input;
  return {
    removeHead: input.removeHead ?? null,
    mapping: input.mapping ?? {},
    fields,
    rules: { ...rules, defaultCountry: country },
    accountCountry: rules.defaultCountry,
    previewRows: input.limit ?? DEFAULT_PREVIEW,
    cleaning: cleaningOf(input),
  };
}

const cleaningOf = ({ names, drop, countries, plus, extract, edits }: Options): Cleaning => ({
  names: names ?? NO_CLEANING.names,
  drop: drop ?? NO_CLEANING.drop,
  countries: countries ?? NO_CLEANING.countries,
  plus: plus ?? NO_CLEANING.plus,
  extract: extract ?? NO_CLEANING.extract,
  edits: edits ?? NO_CLEANING.edits,
});

const PLACE = /^[1-9]\d{0,2}$/;

function refuseFaults({ country, countries = [], edits = [] }: Options): void {
  const message = 'must be two letters of ISO 3166-1, for example IT';
  const faults = [
    ...(typeof country === 'string' && !isPhoneCountry(country) ? [{ field: 'country', message }] : []),
    ...(countries.every(isPhoneCountry) ? [] : [{ field: 'countries', message }]),
    ...(edits.every(({ cells }) => Object.keys(cells).every((place) => PLACE.test(place)))
      ? []
      : [{ field: 'edits', message: 'must name cells by their columns, from 1' }]),
  ];
  if (faults.length > 0) throw invalidFields(faults);
}
