import { type Static, Type } from 'typebox';
import { STATUS_NAMES } from '../../messaging/states.ts';
import { instantField } from '../../platform/lib/instant.ts';
import { MAX_USER_ID_LENGTH } from '../../platform/lib/phone/user-id.ts';
import { channelName, id, instant, orNull } from '../../platform/lib/schema.ts';
import { EXPORT_FORMATS, EXPORT_TYPES } from './filters.ts';
import type { ExportRow } from './sql.ts';

const format = Type.Optional(
  Type.Enum([...EXPORT_FORMATS], {
    type: 'string',
    default: 'csv',
    description:
      'csv: UTF-8, RFC 4180; a text that a spreadsheet would take for a formula has an apostrophe before it, which the ' +
      'import of contacts removes. csv.gz: the same, compressed. xlsx: a workbook with a sheet for each 1,048,575 rows.',
  }),
);
const span = {
  startDateTime: instantField('The earliest time of acceptance.'),
  endDateTime: instantField('The latest time of acceptance, inclusive.'),
};

export const HistoryIn = Type.Object({
  ...span,
  channel: Type.Optional(channelName()),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As in `deliveryStatus`.' })),
  sender: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'The exact sender.' })),
  recipient: Type.Optional(
    Type.String({
      maxLength: MAX_USER_ID_LENGTH,
      description: 'The full number with its country code, or a user id of WhatsApp.',
    }),
  ),
  format,
});
export const ContactsIn = Type.Object({
  listIds: Type.Optional(
    Type.Array(id(), { minItems: 1, maxItems: 1000, description: 'Contacts in any of these lists.' }),
  ),
  contactIds: Type.Optional(
    Type.Array(id(), { minItems: 1, maxItems: 100_000, description: 'Instead of `listIds`: these contacts.' }),
  ),
  format,
});
export const ReportsIn = Type.Object({
  campaignId: Type.Optional(id()),
  startDateTime: Type.Optional(span.startDateTime),
  endDateTime: Type.Optional(span.endDateTime),
  format,
});
export type HistoryIn = Static<typeof HistoryIn>;
export type ContactsIn = Static<typeof ContactsIn>;
export type ReportsIn = Static<typeof ReportsIn>;

export const ExportId = Type.Object({ exportId: Type.String({ format: 'uuid' }) });

const brief = {
  exportId: Type.String({ format: 'uuid' }),
  type: Type.Enum([...EXPORT_TYPES], { type: 'string' }),
  format: Type.Enum([...EXPORT_FORMATS], { type: 'string' }),
  status: Type.Enum(['PENDING', 'COMPLETED', 'EXPIRED', 'FAILED'], { type: 'string' }),
  isAvailableForDownload: Type.Boolean(),
  rows: Type.Integer({ description: 'The number of rows written so far.' }),
  sizeBytes: orNull(Type.Integer({ description: 'The size of the file; null while there is none.' })),
  filters: Type.Unsafe<ExportRow['filters']>(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'The filters of the request; times in UTC. In lists, more than 1,000 `contactIds` are replaced by `contactCount`.',
      },
    ),
  ),
  createdAt: instant('UTC'),
  completedAt: orNull(instant('UTC')),
  expiresAt: orNull(instant('Time at which the file is deleted, in UTC.')),
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  failureReason: orNull(Type.String()),
};
export const ExportInList = Type.Object(brief);
export const QUEUED_EXAMPLE: Static<typeof ExportInList> = {
  exportId: '01a1fd63-cf7c-7183-929b-000000000001',
  type: 'CONTACTS',
  format: 'csv',
  status: 'PENDING',
  isAvailableForDownload: false,
  rows: 0,
  sizeBytes: null,
  filters: { listIds: [1] },
  createdAt: '2027-01-15T09:30:00.000Z',
  completedAt: null,
  expiresAt: null,
  progress: 0,
  failureReason: null,
};
export const ExportOut = Type.Object({
  ...brief,
  downloadUrl: orNull(
    Type.String({
      format: 'uri',
      description:
        'Needs no credentials, supports range requests, and is valid until `expiresAt`. Null while there is no file, and ' +
        'without the scopes of its content: `contacts`, or `tracking` and `money`.',
    }),
  ),
});
export const Deleted = Type.Null({ description: 'The export, its file and the links to it are deleted' });

/** The progress reaches 1 only when the file is available. */
const MAX_PENDING_PROGRESS = 0.99;

function progressOf({ status, rows, expectedRows }: ExportRow): number {
  if (status === 'COMPLETED' || status === 'EXPIRED') return 1;
  return expectedRows ? Math.min(MAX_PENDING_PROGRESS, rows / expectedRows) : 0;
}

export const toExportInList = (row: ExportRow): Static<typeof ExportInList> => ({
  exportId: row.id,
  type: row.type,
  format: row.format,
  status: row.status,
  isAvailableForDownload: row.status === 'COMPLETED',
  rows: row.rows,
  sizeBytes: row.sizeBytes,
  filters: row.filters,
  createdAt: row.createdAt.toISOString(),
  completedAt: row.completedAt?.toISOString() ?? null,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  progress: progressOf(row),
  failureReason: row.failure,
});

export const toExportOut = (row: ExportRow, downloadUrl: string | null): Static<typeof ExportOut> => ({
  ...toExportInList(row),
  downloadUrl,
});
