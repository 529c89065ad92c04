import type { NumberRules } from '../../../../platform/lib/phone/number-rules.ts';
import type { BadRow, Cause, Change, CheckedRow, Cure, GoodRow, RowFault } from '../rows.ts';
import type { Cleaning } from './options.ts';
import { type NumberCleaning, readCleanNumber } from './read-number.ts';

/** Effect of a change on one value. */
export type ChangeSample = { readonly line: number; readonly before: string; readonly after: string };

/** The values that are changed in the same way, with the first of them. */
export type ChangeGroup = {
  readonly cure: Cure;
  readonly field: string;
  readonly country: string | null;
  readonly rows: number;
  readonly samples: readonly ChangeSample[];
};

/**
 * The rejected rows with the same fault, with the first of them, and the cures with the number of rows that each would
 * cure.
 */
export type FaultGroup = {
  readonly cause: Cause;
  readonly field: string;
  readonly rows: number;
  readonly samples: readonly { readonly line: number; readonly value: string }[];
  readonly cures: readonly ChangeGroup[];
};

/** Faults of the rows of a file, by cause, and the changes made to import rows. */
export type CleaningReport = { readonly groups: readonly FaultGroup[]; readonly changes: readonly ChangeGroup[] };

export const EMPTY_REPORT: CleaningReport = { groups: [], changes: [] };

/** Number of values shown of a group. */
const SAMPLES = 5;
/** Values are cut at this length; a person recognises them by less. */
const SHOWN_LENGTH = 80;
/** A file has at most 200 columns, and few of them can be faulty in more than one way. */
const MAX_GROUPS = 300;

type ReportOptions = {
  /** Name by which faults refer to the field of each column; null: it is ignored. */
  readonly fields: readonly (string | null)[];
  readonly rules: NumberRules;
  readonly cleaning: Cleaning;
  /** Candidate countries for numbers without a country code, the likeliest first. */
  readonly candidates: readonly string[];
};

export type Reporter = {
  add(row: CheckedRow): void;
  report(): CleaningReport;
};

/**
 * Creates the collector of the faults and changes of the rows of a file, in memory that does not grow with their
 * number. The cures of faulty numbers are tried on each of them, so their figures are exact.
 */
export function createReporter({ fields, rules, cleaning, candidates }: ReportOptions): Reporter {
  const trials = numberTrials(rules, cleaning, candidates);
  const groups = new Map<string, GrowingGroup>();
  const changes = new Map<string, Growing<ChangeGroup>>();

  const valueOf = ({ cells }: BadRow, field: string): string =>
    field === 'row' ? cells.join(' | ') : (cells[fields.indexOf(field)] ?? '');

  function addFault({ line, faults }: BadRow, { field, cause }: RowFault, value: string): void {
    if (cause === undefined) return;
    const group = entryOf(groups, `${cause} ${field}`, () => ({
      cause,
      field,
      rows: 0,
      samples: [],
      cures: new Map(),
    }));
    if (group === null) return;
    group.rows++;
    if (group.samples.length < SAMPLES) group.samples.push({ line, value: shown(value) });
    for (const change of curesOf(field, cause, value, trials)) {
      // A row with another fault stays rejected, so its cure is counted only where no other cure is needed.
      if (faults.length === 1) addChange(group.cures, line, change);
    }
  }
  return {
    add(row) {
      if ('faults' in row) for (const fault of row.faults) addFault(row, fault, valueOf(row, fault.field));
      else for (const change of changesOf(row)) addChange(changes, row.line, change);
    },
    report: () => ({
      groups: byRows(
        [...groups.values()].map(({ cures, ...group }) => ({ ...group, cures: byRows([...cures.values()]) })),
      ),
      changes: byRows([...changes.values()]),
    }),
  };
}

const changesOf = ({ changes = [] }: GoodRow): readonly Change[] => changes;

type Growing<T extends { rows: number }> = Omit<T, 'rows' | 'samples'> & { rows: number; samples: ChangeSample[] };
type GrowingGroup = Omit<FaultGroup, 'rows' | 'samples' | 'cures'> & {
  rows: number;
  samples: { line: number; value: string }[];
  cures: Map<string, Growing<ChangeGroup>>;
};

const byRows = <T extends { readonly rows: number }>(groups: readonly T[]): T[] =>
  groups.toSorted((a, b) => b.rows - a.rows);

const shown = (text: string): string => text.trim().slice(0, SHOWN_LENGTH).toWellFormed().replaceAll('\0', '\ufffd');

function entryOf<T>(entries: Map<string, T>, key: string, make: () => T): T | null {
  const there = entries.get(key);
  if (there !== undefined) return there;
  if (entries.size >= MAX_GROUPS) return null;
  const made = make();
  entries.set(key, made);
  return made;
}

function addChange(entries: Map<string, Growing<ChangeGroup>>, line: number, change: Change): void {
  const { cure, field, country = null } = change;
  const group = entryOf(entries, `${cure} ${country} ${field}`, () => ({ cure, field, country, rows: 0, samples: [] }));
  if (group === null) return;
  group.rows++;
  if (group.samples.length < SAMPLES)
    group.samples.push({ line, before: shown(change.before), after: shown(change.after) });
}

type Trial = { readonly rules: NumberRules; readonly cleaning: NumberCleaning };

/** Returns the ways to read a faulty number that the cleaning does not use yet, one at a time. */
function numberTrials(rules: NumberRules, cleaning: Cleaning, candidates: readonly string[]): readonly Trial[] {
  const { countries } = cleaning;
  const others = candidates.filter((country) => country !== rules.defaultCountry && !countries.includes(country));
  const without: NumberCleaning = { countries: [], plus: false, extract: false };
  return [
    ...others.map((country) => ({ rules, cleaning: { ...without, countries: [country] } })),
    ...(cleaning.plus ? [] : [{ rules, cleaning: { ...without, plus: true } }]),
    ...(cleaning.extract ? [] : [{ rules, cleaning: { ...without, countries, extract: true } }]),
  ];
}

/** Fields that every contact needs. */
const NEEDED: ReadonlySet<string> = new Set(['phoneNumber']);
const ROW_CAUSES: ReadonlySet<Cause> = new Set(['duplicate', 'limit']);

function curesOf(field: string, cause: Cause, value: string, trials: readonly Trial[]): readonly Change[] {
  if (ROW_CAUSES.has(cause) || cause === 'number_missing' || cause === 'rounded') return [];
  if (!NEEDED.has(field)) return [{ cure: 'drop', field, before: value, after: '' }];
  return trials.flatMap(({ rules, cleaning }) => {
    const read = readCleanNumber(value, rules, cleaning);
    if (!('phone' in read) || read.change === undefined) return [];
    // A number that a country or a plus cures needs no search in the text.
    return [read.change].filter(({ cure }) => !cleaning.extract || cure === 'extract');
  });
}
