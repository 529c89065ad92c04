import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { DELIMITERS } from '../core/csv.ts';
import type { Db } from '../core/db/query.ts';
import { existing } from '../core/errors.ts';
import { id, instant, orNull } from '../core/schema.ts';
import { IMPORTED_FIELDS } from './contact-fields.ts';
import type { TablePreview } from './import-check.ts';
import { type ChangeGroup, type CleaningReport, NAME_ORDERS } from './import-cleaning.ts';
import { ENCODINGS } from './import-encoding.ts';
import { CAUSES, CURES } from './import-rows.ts';
import {
  type FaultFilter,
  findImport,
  type ImportInList as ImportBrief,
  type ImportRow,
  listRejects,
  type Reject,
  type UploadRow,
} from './import-store.ts';
import type { PreviewedTable } from './import-thread.ts';

const count = (description: string) => Type.Integer({ description });

/** The parts of an upload. Only for the API description: a form is read as a stream, and checked by `readSettings`. */
export const UploadForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description:
      'CSV with any usual delimiter in UTF-8, UTF-16 or Windows-1252 (up to 200 MiB), or XLSX (up to 20 MiB, uncompressed ' +
      '64 MiB): up to 2,000,000 rows and 200 columns.',
  }),
  fileName: Type.Optional(Type.String({ description: 'Replaces the file name of the part.' })),
  removeHead: Type.Optional(
    Type.Boolean({ description: 'True if the first row has the names of the columns. Default: detected.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 10, description: 'Number of rows in `preview`.' }),
  ),
  listId: Type.Optional(Type.Integer({ description: 'The list to which the contacts are added.' })),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'Only report the outcome; no contact is written.' }),
  ),
  mapping: Type.Optional(
    Type.String({
      description:
        'JSON: maps the name of a column, or its position from 1, to the name of a field ' +
        `(${[...IMPORTED_FIELDS, 'customField.<name>'].map((name) => `\`${name}\``).join(', ')}); null ignores the column. ` +
        'Columns that are not mapped are recognised by their names, and otherwise become custom fields. ' +
        'Several columns may be `phoneNumber`: a mobile number is taken before others.',
    }),
  ),
});

export const PreviewForm = Type.Object(
  Type.Pick(UploadForm, ['file', 'fileName', 'removeHead', 'limit', 'mapping']).properties,
);

export const VcardForm = Type.Object({
  file: Type.String({ format: 'binary', description: 'vCards 2.1, 3.0 or 4.0 (up to 200 MiB).' }),
  ...Type.Pick(UploadForm, ['fileName', 'limit', 'listId', 'dryRun']).properties,
});

const Summary = Type.Object({
  total: count('The rows of the file.'),
  created: count('New contacts.'),
  updated: count('Contacts that existed before, by their number.'),
  skipped: count('Rows with the same number as an earlier row of the file.'),
  errors: count('Rows that cannot become a contact, or that exceed the contact limit.'),
});

const lineOfFile = Type.Integer({ description: 'The line of the file, from 1; in a sheet, the row.' });

const Fault = Type.Object({
  line: lineOfFile,
  field: Type.String({ description: '`row` if it is not a single field.' }),
  message: Type.String(),
});

/** The fields of each import that a list of imports shows. */
const brief = {
  importId: Type.Integer(),
  status: Type.Enum(['PENDING', 'RUNNING', 'COMPLETED', 'FAILED'], { type: 'string' }),
  fileName: Type.String(),
  dryRun: Type.Boolean(),
  listId: orNull(Type.Integer()),
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  summary: Summary,
  failureReason: orNull(Type.String()),
  createdAt: instant(),
  completedAt: orNull(instant()),
};

const ChangeOut = Type.Object({
  cure: Type.Enum([...CURES], {
    type: 'string',
    description:
      '`country`: the number is read as one of `country`; `plus`: it begins with a country code; `extract`: it is found ' +
      'in a longer text; `dayFirst`, `monthFirst`: the date is read as day, month, year or as month, day, year; `drop`: ' +
      'the value is dropped.',
  }),
  field: Type.String(),
  country: orNull(Type.String({ description: 'ISO 3166-1 alpha-2.' })),
  rows: count('Number of rows.'),
  samples: Type.Array(Type.Object({ line: lineOfFile, before: Type.String(), after: Type.String() }), {
    description: 'The first of them.',
  }),
});

const CleaningOut = Type.Object({
  groups: Type.Array(
    Type.Object({
      cause: Type.Enum([...CAUSES], { type: 'string' }),
      field: Type.String({ description: '`row` if it is not a single field.' }),
      rows: count('Number of rows that are rejected because of it.'),
      samples: Type.Array(Type.Object({ line: lineOfFile, value: Type.String() }), {
        description: 'The first of them.',
      }),
      cures: Type.Array(ChangeOut, { description: 'Cures, with the number of these rows that each would import.' }),
    }),
    { description: 'The faults of the rejected rows by cause, the most frequent first.' },
  ),
  changes: Type.Array(ChangeOut, { description: 'The values that were changed to import rows.' }),
});

const toCleaningOut = ({ groups, changes }: CleaningReport): Static<typeof CleaningOut> => ({
  groups: groups.map((group) => ({
    ...group,
    samples: [...group.samples],
    cures: group.cures.map(toChangeOut),
  })),
  changes: changes.map(toChangeOut),
});

const toChangeOut = (change: ChangeGroup): Static<typeof ChangeOut> => ({ ...change, samples: [...change.samples] });

export const ImportInList = Type.Object(brief);
export const ImportOut = Type.Object({
  ...brief,
  columns: Type.Array(Type.String(), { description: 'The names of the columns in the file.' }),
  fields: Type.Array(orNull(Type.String()), { description: 'The field of each column; null: it is ignored.' }),
  preview: Type.Array(Type.Array(Type.String()), { description: 'The first rows as the file has them.' }),
  cleaning: CleaningOut,
  errors: Type.Array(Fault, {
    description: 'The faults of the first 1,000 rejected rows, including duplicates. `/rejects` has all of them.',
  }),
});

export const PENDING_EXAMPLE: Static<typeof ImportOut> = {
  importId: 1,
  status: 'PENDING',
  fileName: 'customers.csv',
  dryRun: false,
  listId: 1,
  progress: 0,
  summary: { total: 250_000, created: 0, updated: 0, skipped: 0, errors: 0 },
  failureReason: null,
  createdAt: '2027-01-15T09:30:00.000Z',
  completedAt: null,
  columns: ['phoneNumber', 'firstName', 'city'],
  fields: ['phoneNumber', 'firstName', 'customField.city'],
  preview: [['+61491570159', 'Linus', 'Hobart']],
  cleaning: { groups: [], changes: [] },
  errors: [],
};

export const PreviewOut = Type.Object({
  columns: Type.Array(Type.String(), { description: 'The names of the columns in the file.' }),
  fields: Type.Array(orNull(Type.String()), { description: 'The field of each column; null: it would be ignored.' }),
  hasHead: Type.Boolean({ description: 'True if the first row is interpreted as the names of the columns.' }),
  preview: Type.Array(Type.Array(Type.String()), { description: 'The first rows as the file has them.' }),
  faults: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Reasons why an upload with these settings would be rejected, to be resolved by a `mapping`.',
  }),
});

export const toPreviewOut = ({
  columns,
  ...rest
}: Pick<TablePreview, 'columns' | 'hasHead' | 'preview' | 'faults'>): Static<typeof PreviewOut> => ({
  columns: columns.map(({ name }) => name),
  fields: columns.map(({ target }) => {
    if (target === null) return null;
    return 'field' in target ? target.field : `customField.${target.custom}`;
  }),
  hasHead: rest.hasHead,
  preview: rest.preview.map((cells) => [...cells]),
  faults: [...rest.faults],
});

export const ImportId = Type.Object({ id: id() });

export const rowsFilterFields = {
  cause: Type.Optional(
    Type.Enum([...CAUSES], { type: 'string', description: 'Only rows with a fault of this cause.' }),
  ),
  field: Type.Optional(Type.String({ maxLength: 100, description: 'Only rows with a fault in this field.' })),
};
const RowsFilter = Type.Object(rowsFilterFields);

export const RejectedRow = Type.Object({
  line: lineOfFile,
  cells: Type.Array(Type.String(), { description: 'In the order of the columns; long rows are cut.' }),
  faults: Type.Array(
    Type.Object({
      field: Type.String(),
      cause: orNull(Type.Enum([...CAUSES], { type: 'string' })),
      message: Type.String(),
    }),
  ),
});

export const faultFilterOf = ({ cause, field }: Static<typeof RowsFilter>): FaultFilter =>
  cause === undefined && field === undefined
    ? null
    : { ...(cause !== undefined && { cause }), ...(field !== undefined && { field }) };

export const toRejectedRow = ({ line, cells, faults }: Reject): Static<typeof RejectedRow> => ({
  line,
  cells: [...cells],
  faults: faults.map(({ field, cause = null, message }) => ({ field, cause, message })),
});

export const toImportInList = (row: ImportBrief): Static<typeof ImportInList> => {
  const { total, created, updated, skipped, errors } = row;
  return {
    importId: row.id,
    status: row.status,
    fileName: row.fileName,
    dryRun: row.dryRun,
    listId: row.listId,
    progress: row.status === 'COMPLETED' ? 1 : (created + updated + skipped + errors) / total,
    summary: { total, created, updated, skipped, errors },
    failureReason: row.failure,
    createdAt: row.createdAt.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
  };
};

const toImportOut = (row: ImportRow, rejects: readonly Reject[]): Static<typeof ImportOut> => ({
  ...toImportInList(row),
  columns: row.columns.map(({ name }) => name),
  fields: row.columns.map(({ field }) => field),
  preview: row.preview.map((cells) => [...cells]),
  cleaning: toCleaningOut(row.cleaning),
  errors: rejects.flatMap(({ line, faults }) => faults.map(({ field, message }) => ({ line, field, message }))),
});

/** Hours for which a file is kept if it is not imported. */
export const KEPT_HOURS = 24;

export const FileForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description:
      'CSV or vCard (up to 200 MiB), or XLSX (up to 20 MiB, uncompressed 64 MiB): up to 2,000,000 rows and 200 columns.',
  }),
  ...Type.Pick(UploadForm, ['fileName']).properties,
});

export const UploadId = Type.Object({ id: id() });

const encoding = Type.Enum([...ENCODINGS], {
  type: 'string',
  description: 'The encoding of the text; `mixed`: UTF-8, and Windows-1252 in lines that are not UTF-8.',
});
const delimiter = Type.Enum([...DELIMITERS], {
  type: 'string',
  description: 'Delimiter of the cells of a CSV file.',
});

export const UploadOut = Type.Object({
  uploadId: Type.Integer(),
  fileName: Type.String(),
  sizeBytes: Type.Integer(),
  format: Type.Enum(['csv', 'xlsx', 'vcard'], { type: 'string' }),
  encoding: orNull(encoding),
  progress: orNull(
    Type.Number({
      description: 'Share of the file that the check or import in progress has read, from 0 to 1; null: none reads it.',
    }),
  ),
  createdAt: instant(),
});

export function toUploadOut({ id: uploadId, createdAt, ...row }: UploadRow): Static<typeof UploadOut> {
  const { fileName, sizeBytes, format, progress } = row;
  return {
    uploadId,
    fileName,
    sizeBytes,
    format,
    encoding: row.encoding,
    progress,
    createdAt: createdAt.toISOString(),
  };
}

const line = Type.Integer({ minimum: 1, description: 'The line of the file, from 1; in a sheet, the row.' });

const reading = {
  encoding: Type.Optional(encoding),
  delimiter: Type.Optional(delimiter),
  removeHead: Type.Optional(
    Type.Boolean({ description: 'True if the first row has the names of the columns. Default: detected.' }),
  ),
  mapping: Type.Optional(
    Type.Record(Type.String(), orNull(Type.String({ maxLength: 100 })), {
      maxProperties: 400,
      description:
        'From the name of a column, or its position from 1, to the name of a field; null ignores the column.',
    }),
  ),
  country: Type.Optional(
    orNull(
      Type.String({
        pattern: '^[A-Z]{2}$',
        description:
          'The country of numbers without a country code, as two letters of ISO 3166-1; null: they are rejected. Default: ' +
          'that of the account.',
      }),
    ),
  ),
  names: Type.Optional(
    Type.Enum([...NAME_ORDERS], {
      type: 'string',
      description:
        'Handling of a column with whole names: `keep` stores them as they are; `firstLast` and `lastFirst` split ' +
        'them into first and last name. Default: `keep`.',
    }),
  ),
};

export const ReadingIn = Type.Object({
  ...reading,
  limit: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 10, description: 'Number of rows in `preview`.' }),
  ),
});

const dateFields = (order: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 200,
      description: `The fields whose dates are read as ${order} where they are not yyyy-MM-dd, for example \`customFields.born\`.`,
    }),
  );

/** Options for cleaning faulty values. */
const curing = {
  drop: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 200,
      description:
        'The fields whose faulty values are dropped, for example `email` or `customFields.born`; `row`: cells beyond ' +
        'the last column. Without it, a faulty value rejects its row.',
    }),
  ),
  countries: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), {
      maxItems: 10,
      description: 'Countries to try, in this order, for numbers that are otherwise faulty.',
    }),
  ),
  plus: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True if faulty numbers may begin with a country code without a plus.',
    }),
  ),
  extract: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True if a valid number is searched for in the text of a faulty one.',
    }),
  ),
  dayFirst: dateFields('day, month, year (`28.2.1990`)'),
  monthFirst: dateFields('month, day, year (`2/28/1990`)'),
  edits: Type.Optional(
    Type.Array(
      Type.Object({
        line,
        cells: Type.Record(Type.String(), Type.String({ maxLength: 1000 }), {
          maxProperties: 200,
          description: 'The new text of cells, by their columns from 1.',
        }),
      }),
      { maxItems: 500, description: 'Rows that are corrected.' },
    ),
  ),
};

export const ImportIn = Type.Object({
  ...reading,
  ...curing,
  listId: Type.Optional(Type.Integer({ description: 'The list to which the contacts are added.' })),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'Only report the outcome; no contact is written.' }),
  ),
});

export const ColumnsOut = Type.Object({
  ...PreviewOut.properties,
  encoding: orNull(encoding),
  delimiter: orNull(delimiter),
  country: orNull(Type.String({ description: 'The likely country of numbers without a country code: a guess.' })),
  countries: Type.Array(Type.String(), { description: 'All such countries, the likeliest first.' }),
  names: Type.Array(Type.Object({ name: Type.String(), firstName: Type.String(), lastName: orNull(Type.String()) }), {
    description: 'The whole names of the first rows as `names` would split them.',
  }),
});

export const toColumnsOut = (table: PreviewedTable): Static<typeof ColumnsOut> => ({
  ...toPreviewOut(table),
  encoding: table.encoding,
  delimiter: table.delimiter,
  country: table.guess.country,
  countries: [...table.guess.candidates],
  names: table.names.map((name) => ({ ...name })),
});

/** Number of rejected rows that a response includes. */
const SHOWN_REJECTS = 1000;

/** Returns an import as the API shows it, with the faults of the first 1,000 rejected rows. */
export async function answerImport(db: Db, row: ImportRow) {
  const which = { accountId: row.accountId, importId: row.id, afterLine: -1, limit: SHOWN_REJECTS };
  return toImportOut(row, await listRejects(db, which));
}

/** Finds an import of the actor's account. Errors: 404. */
export async function findImportOrThrow(db: Db, { accountId }: Actor, id: number): Promise<ImportRow> {
  return existing(findImport(db, { accountId, id }));
}
