import { type Static, Type } from 'typebox';
import { DELIMITERS } from '../../../../platform/lib/csv-delimiter.ts';
import { id, instant, orNull } from '../../../../platform/lib/schema.ts';
import { NAME_ORDERS } from '../cleaning/options.ts';
import type { PreviewedTable } from '../reading/convert.ts';
import { ENCODINGS } from '../reading/encoding.ts';
import { PreviewOut, toPreviewOut, UploadForm } from '../schema.ts';
import type { UploadRow } from './sql.ts';

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

/** Options for reading a file. */
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
