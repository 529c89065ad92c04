import type { FilePreview, ImportBody, ReadingBody, StoredFile, Targets } from './import.ts';
import type { ListChoice } from '../list-choice.tsx';

export type NameOrder = NonNullable<ImportBody['names']>;

/** Options for reading the file. Omitted ones are detected by the server. */
export type Reading = Pick<ImportBody, 'encoding' | 'delimiter'> & {
  readonly hasHead?: boolean;
  /** The country of numbers without a country code; null: they are rejected. */
  readonly country: string | null;
  readonly names: NameOrder;
};

/** The cures that were chosen so far. */
export type Cures = {
  readonly drop: readonly string[];
  readonly countries: readonly string[];
  readonly plus: boolean;
  readonly extract: boolean;
};

/** The new texts of cells: by line, then by column from 1. */
export type Edits = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The choices made in the steps so far. */
export type Draft = {
  /** The file on the server. */
  readonly file: StoredFile | null;
  readonly list: ListChoice;
  /** The server's preview of the file; null before the file is read, and for vCards. */
  readonly preview: FilePreview | null;
  readonly targets: Targets;
  readonly reading: Reading;
  readonly cures: Cures;
  readonly edits: Edits;
};

export type ChangeDraft = (patch: Partial<Draft>) => void;

export const NEW_READING: Reading = { country: null, names: 'keep' };
/** A bad email address costs the address, not the person. */
export const FIRST_CURES: Cures = { drop: ['email'], countries: [], plus: false, extract: false };

export const isVcard = (file: StoredFile): boolean => file.format === 'vcard';

const PREVIEW_ROWS = 3;

/** The request for the preview of a file. It shows the split of names, even if they are not to be split. */
export const toReadingBody = ({ reading, targets }: Pick<Draft, 'reading' | 'targets'>): ReadingBody => ({
  ...readingOf(reading),
  ...(targets.length > 0 && { mapping: mappingOf(targets) }),
  names: reading.names === 'keep' ? 'firstLast' : reading.names,
  limit: PREVIEW_ROWS,
});

/**
 * The request that checks or imports the file. vCards define how they are read, except for the country, which is the
 * account's.
 */
export function toImportBody({ preview, targets, reading, cures, edits }: Draft): ImportBody {
  const table = preview !== null && {
    ...readingOf(reading),
    mapping: mappingOf(targets),
    removeHead: preview.hasHead,
    names: targets.includes('fullName') ? reading.names : ('keep' as const),
  };
  const rows = Object.entries(edits).map(([line, cells]) => ({ line: Number(line), cells }));
  const { drop, countries, ...rest } = cures;
  return { ...table, ...rest, drop: [...drop], countries: [...countries], ...(rows.length > 0 && { edits: rows }) };
}

const readingOf = ({ encoding, delimiter, hasHead, country }: Reading) => ({
  ...(encoding && { encoding }),
  ...(delimiter && { delimiter }),
  ...(hasHead !== undefined && { removeHead: hasHead }),
  country,
});

const mappingOf = (targets: Targets): Record<string, string | null> =>
  Object.fromEntries(targets.map((target, at) => [String(at + 1), target]));

/** Default for reading names: a column of whole names is split if no other column has the parts. */
export const namesFor = (targets: Targets): NameOrder =>
  targets.includes('fullName') && !targets.includes('firstName') && !targets.includes('lastName')
    ? 'firstLast'
    : 'keep';
