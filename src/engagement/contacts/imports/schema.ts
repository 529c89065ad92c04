import { type Static, Type } from 'typebox';
import type { TablePreview } from './check-table.ts';
import type { ImportInList as ImportBrief, ImportRow, Reject } from './sql.ts';
import { id, instant, orNull } from '../../../platform/lib/schema.ts';

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
    Type.Boolean({ description: 'Whether the first row has the names of the columns. Default: this is detected.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 10, description: 'How many rows of the file `preview` has.' }),
  ),
  listId: Type.Optional(Type.Integer({ description: 'The list to which the contacts are added.' })),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'Only report what would happen; no contact is written.' }),
  ),
  mapping: Type.Optional(
    Type.String({
      description:
        'JSON: maps the name of a column, or its place from 1, to the name of a field (`phoneNumber`, `firstName`, ' +
        '`lastName`, `fullName`, `email`, `gender`, `isTest`, `optedOut`, `customField.<name>`); null ignores the column. ' +
        'Columns that are not mapped are recognised by their names, and otherwise become custom fields.',
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

const Fault = Type.Object({
  line: Type.Integer({ description: 'The line of the file, from 1; in a sheet, the row.' }),
  field: Type.String({ description: '`row` if it is not a single field.' }),
  message: Type.String(),
});

/** What a list of imports shows of each. */
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

export const ImportInList = Type.Object(brief);
export const ImportOut = Type.Object({
  ...brief,
  columns: Type.Array(Type.String(), { description: 'The names of the columns in the file.' }),
  fields: Type.Array(orNull(Type.String()), { description: 'The field of each column; null: it is ignored.' }),
  preview: Type.Array(Type.Array(Type.String()), { description: 'The first rows as the file has them.' }),
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
  errors: [],
};

export const PreviewOut = Type.Object({
  columns: Type.Array(Type.String(), { description: 'The names of the columns in the file.' }),
  fields: Type.Array(orNull(Type.String()), { description: 'The field of each column; null: it would be ignored.' }),
  hasHead: Type.Boolean({ description: 'Whether the first row is interpreted as the names of the columns.' }),
  preview: Type.Array(Type.Array(Type.String()), { description: 'The first rows as the file has them.' }),
  faults: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Why an upload with these settings would be refused: what a `mapping` must resolve.',
  }),
});

export const toPreviewOut = ({ columns, ...rest }: TablePreview): Static<typeof PreviewOut> => ({
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

export const toImportOut = (row: ImportRow, rejects: readonly Reject[]): Static<typeof ImportOut> => ({
  ...toImportInList(row),
  columns: row.columns.map(({ name }) => name),
  fields: row.columns.map(({ field }) => field),
  preview: row.preview,
  errors: rejects.flatMap(({ line, faults }) => faults.map(({ field, message }) => ({ line, field, message }))),
});
