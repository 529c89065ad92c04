import { STATUS_NAMES } from '../core/message-state.ts';
import { type Static, Type } from 'typebox';
import { findCampaign } from '../campaigns/store.ts';
import { listUnknownContacts } from '../contacts/list-members.ts';
import { listLists } from '../contacts/lists.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, type FieldError, invalidFields } from '../core/errors.ts';
import { withoutInvisible } from '../core/fold.ts';
import { answerPage, type App, PageOf, PageQuery, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { FILE_ANSWERS, sendFile } from '../core/http/files.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { isUuid } from '../core/ids.ts';

import { isUserId, MAX_USER_ID_LENGTH, toE164 } from '../core/phone.ts';
import { channelName, id, instant, orNull } from '../core/schema.ts';
import { instantField } from '../core/time.ts';
import { readTimes } from '../stats/history.ts';
import { addressesOf, PersonIn } from './person-data.ts';
import { removeExport, repeatExport, requestExport } from './make.ts';
import {
  CONTENT_SCOPES,
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportRequest,
  type ExportRow,
  type ExportType,
  findExport,
  listExports,
} from './store.ts';
import { contentTypeOf } from './write.ts';

const PG = '/api/partner-gateway/v1';
const PATH = `${PG}/exports`;
const ONE = `${PATH}/:exportId`;
const FILE = `${ONE}/file`;
const tags = ['Exports'];
const onRequest = requireScope('exports');

/** The hooks of a route that requests an export of this type: its content is only for callers who may read it. */
const mayRequest = (type: ExportType) => [
  onRequest,
  ...CONTENT_SCOPES[type].map((scope) => requireScope(scope, 'read')),
];

const ALL_CONTACTS = { only: 'exports of all contacts' };
const REPEATED = { only: 'exports of all contacts, of opt-outs and of a person' };

const QUEUED =
  'Responds immediately; a worker creates the file. `GET /exports/{exportId}` shows the progress and the link to the file.';

/** Registers the routes for exports of messages and contacts. */
export function exportRoutes(app: App, deps: PlatformDeps): void {
  requestRoutes(app, deps);
  readRoutes(app, deps);
  changeRoutes(app, deps);
}

function requestRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const describe = (operationId: string, summary: string) => ({
    tags,
    operationId,
    summary,
    description: QUEUED,
    response: { 202: ExportInList },
  });

  app.post(`${PG}/messages/history/export`, {
    onRequest: mayRequest('HISTORY'),
    schema: {
      ...describe('exportHistory', 'Export messages with their statuses'),
      body: withExamples(HistoryIn, {
        startDateTime: '2026-11-01T00:00:00Z',
        endDateTime: '2026-12-01T00:00:00Z',
        channel: 'SMS',
        format: 'csv',
      }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) =>
      toExportInList(await requestExport(tx, actor, { ...readHistoryRequest(body), format })),
    ),
  });

  app.post(`${PATH}/contacts`, {
    onRequest: mayRequest('CONTACTS'),
    config: { stepUp: ALL_CONTACTS },
    schema: {
      ...describe('exportContacts', 'Export contacts: by list, by id, or all'),
      body: withExamples(ContactsIn, { listIds: [1], format: 'xlsx' }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const request = await readContactsRequest(tx, actor.accountId, body);
      return toExportInList(await requestExport(tx, actor, { ...request, format }));
    }),
  });

  app.post(`${PATH}/delivery-reports`, {
    onRequest: mayRequest('DELIVERY_REPORTS'),
    schema: {
      ...describe('exportDeliveryReports', 'Export the delivery reports of a campaign or of a time range'),
      body: withExamples(ReportsIn, {
        startDateTime: '2026-11-01T00:00:00Z',
        endDateTime: '2026-12-01T00:00:00Z',
        format: 'csv.gz',
      }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const request = await readReportsRequest(tx, actor.accountId, body);
      return toExportInList(await requestExport(tx, actor, { ...request, format }));
    }),
  });

  app.post(`${PATH}/opt-outs`, {
    onRequest: mayRequest('OPT_OUTS'),
    config: { stepUp: true },
    schema: {
      ...describe('exportOptOuts', 'Export the opt-outs of the account, with or without a contact'),
      body: withExamples(Type.Object({ format }), { format: 'csv' }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv' } }, tx) =>
      toExportInList(await requestExport(tx, actor, { type: 'OPT_OUTS', filters: {}, format })),
    ),
  });

  app.post(`${PG}/privacy/exports`, {
    onRequest: mayRequest('PERSON'),
    config: { stepUp: true },
    schema: {
      ...describe('exportPerson', 'Export everything that is held about a person'),
      description: `${QUEUED} Each row has a table and one of its rows as JSON. Files of the person are listed under \`media\`.`,
      body: withExamples(PersonExportIn, { to: '+393331239999' }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...person } }, tx) => {
      const addresses = await addressesOf(tx, actor, person);
      return toExportInList(await requestExport(tx, actor, { type: 'PERSON', filters: { addresses }, format }));
    }),
  });
}

function readRoutes(app: App, { pool, config, links }: PlatformDeps): void {
  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listExports',
      summary: 'List exports, newest first',
      querystring: PageQuery,
      response: { 200: PageOf(ExportInList) },
    },
    handler: ({ actor, query }) => answerPage(query, listExports(tenant(pool, actor), actor, query), toExportInList),
  });

  app.get(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'findExport',
      summary: 'Get an export: its progress and the link to its file',
      params: ExportId,
      response: { 200: ExportOut },
    },
    handler: async ({ actor, params }) => {
      const { accountId } = actor;
      const row = await existing(findExport(tenant(pool, actor), { accountId, id: params.exportId }));
      const maySee = CONTENT_SCOPES[row.type].every((scope) => actor.operations.has(scope));
      return toExportOut(row, maySee ? urlOf(row) : null);
    },
  });

  function urlOf({ accountId, id, version, status, expiresAt }: ExportRow): string | null {
    if (status !== 'COMPLETED' || expiresAt === null) return null;
    const target = { kind: 'export', accountId, id, version } as const;
    return `${config.publicUrl}${PATH}/${id}/file?${links.sign(target, expiresAt)}`;
  }
}

function changeRoutes(app: App, { pool, answers }: PlatformDeps): void {
  app.post(ONE, {
    onRequest,
    config: { stepUp: REPEATED },
    schema: {
      tags,
      operationId: 'repeatExport',
      summary: 'Repeat an expired or failed export with the same filters',
      description: 'Responds with 400 while the export is in progress or its file is available.',
      params: ExportId,
      response: { 202: withExamples(ExportInList, QUEUED_EXAMPLE) },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      toExportInList(await repeatExport(tx, actor, params.exportId)),
    ),
  });

  app.delete(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteExport',
      summary: 'Delete an export, its file, and the links to it',
      params: ExportId,
      response: { 204: Deleted },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeExport(tx, actor, params.exportId)),
  });
}

const INVALID_LINK = 'The link is invalid or has expired';

/** Registers the route for signed links. It takes no credentials: the signature covers the account. */
export function exportFileRoutes(app: App, { pool, storage, links, clock }: PlatformDeps): void {
  app.get(FILE, {
    schema: {
      tags,
      security: [],
      operationId: 'downloadExport',
      summary: 'Download the file of an export by its signed link',
      description: 'Supports range requests. The link comes from `GET /exports/{exportId}`; an expired one gets 404.',
      produces: ['application/octet-stream'],
      params: Type.Object({ exportId: Type.String() }),
      response: FILE_ANSWERS,
    },
    handler: async (request, reply) => {
      const { method, query, params } = request;
      const { exportId: id } = params;
      const link = links.verify({ kind: 'export', id, method, query }, clock.now());
      // Exports had numbers before, and links to those are signed.
      if (!link.ok || !isUuid(id)) throw new AppError('not_found', { message: INVALID_LINK });
      const { accountId, version } = link;
      const row = await findExport(tenant(pool, { accountId }), { accountId, id });
      if (row?.status !== 'COMPLETED' || row.version !== version || row.fileKey === null || row.sizeBytes === null)
        throw new AppError('not_found', { message: INVALID_LINK });
      const file = { key: row.fileKey, sizeBytes: row.sizeBytes, etag: `${row.id}-${version}` };
      return sendFile(request, reply, storage, {
        ...file,
        contentType: contentTypeOf(row.format),
        fileName: fileNameOf(row),
      });
    },
  });
}

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

const HistoryIn = Type.Object({
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
const ContactsIn = Type.Object({
  listIds: Type.Optional(
    Type.Array(id(), { minItems: 1, maxItems: 1000, description: 'Contacts in any of these lists.' }),
  ),
  contactIds: Type.Optional(
    Type.Array(id(), { minItems: 1, maxItems: 100_000, description: 'Instead of `listIds`: these contacts.' }),
  ),
  format,
});
const ReportsIn = Type.Object({
  campaignId: Type.Optional(id()),
  notReached: Type.Optional(
    Type.Boolean({
      description:
        'True for one row per recipient whom the campaign did not reach: the last message, which ended undelivered. Requires `campaignId`.',
    }),
  ),
  startDateTime: Type.Optional(span.startDateTime),
  endDateTime: Type.Optional(span.endDateTime),
  format,
});
const PersonExportIn = Type.Object({ ...PersonIn.properties, format });
type HistoryIn = Static<typeof HistoryIn>;
type ContactsIn = Static<typeof ContactsIn>;
type ReportsIn = Static<typeof ReportsIn>;

const ExportId = Type.Object({ exportId: Type.String({ format: 'uuid' }) });

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
const ExportInList = Type.Object(brief);
const QUEUED_EXAMPLE: Static<typeof ExportInList> = {
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
const ExportOut = Type.Object({
  ...brief,
  downloadUrl: orNull(
    Type.String({
      format: 'uri',
      description:
        'Needs no credentials, supports range requests, and is valid until `expiresAt`. Null while there is no file, and ' +
        'without the scopes of its content: `contacts`, `keys`, or `tracking` and `money`.',
    }),
  ),
});
const Deleted = Type.Null({ description: 'The export, its file and the links to it are deleted' });

/** The progress reaches 1 only when the file is available. */
const MAX_PENDING_PROGRESS = 0.99;

function progressOf({ status, rows, expectedRows }: ExportRow): number {
  if (status === 'COMPLETED' || status === 'EXPIRED') return 1;
  return expectedRows ? Math.min(MAX_PENDING_PROGRESS, rows / expectedRows) : 0;
}

const toExportInList = (row: ExportRow): Static<typeof ExportInList> => ({
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

const toExportOut = (row: ExportRow, downloadUrl: string | null): Static<typeof ExportOut> => ({
  ...toExportInList(row),
  downloadUrl,
});

/** Number of unknown ids that an error message lists. */
const MAX_LISTED_IDS = 20;

/** Reads a request for the messages that were accepted in a time range. Errors: 400 naming the fields. */
function readHistoryRequest({
  startDateTime,
  endDateTime,
  channel,
  status,
  sender,
  recipient,
}: HistoryIn): ExportRequest {
  const number = recipient === undefined ? undefined : readRecipient(recipient);
  const faults: FieldError[] =
    number === null ? [{ field: 'recipient', message: 'must be a number with its country code' }] : [];
  const span = readSpan({ startDateTime, endDateTime }, faults);
  const others = { ...(channel && { channel }), ...(status && { status }), ...(sender && { sender }) };
  return { type: 'HISTORY', filters: { ...span, ...others, ...(number && { recipient: number }) } };
}

/** Returns a number in E.164, or a user id of WhatsApp as it is; null for anything else. */
const readRecipient = (recipient: string): string | null =>
  isUserId(recipient) ? recipient : toE164(withoutInvisible(recipient).replaceAll(/[\s().-]/g, ''));

/** Reads a request for contacts. Errors: 400 listing the ids that the account does not have. */
async function readContactsRequest(
  db: Db,
  accountId: number,
  { listIds, contactIds }: ContactsIn,
): Promise<ExportRequest> {
  if (listIds && contactIds)
    throw invalidFields([{ field: 'contactIds', message: 'must not be combined with listIds' }]);
  if (listIds) refuseUnknown('listIds', await listUnknownLists(db, accountId, listIds));
  if (contactIds) refuseUnknown('contactIds', await listUnknownContacts(db, { accountId, ids: contactIds }));
  return { type: 'CONTACTS', filters: { ...(listIds ? { listIds } : {}), ...(contactIds ? { contactIds } : {}) } };
}

/** Reads a request for delivery reports. Errors: 400, also for a campaign that the account does not have. */
async function readReportsRequest(db: Db, accountId: number, body: ReportsIn): Promise<ExportRequest> {
  const { campaignId, notReached = false, startDateTime, endDateTime } = body;
  if (campaignId === undefined) {
    if (notReached) throw invalidFields([{ field: 'notReached', message: 'requires campaignId' }]);
    const missing = [
      ...(startDateTime === undefined ? ['startDateTime'] : []),
      ...(endDateTime === undefined ? ['endDateTime'] : []),
    ].map((field) => ({ field, message: 'is required (or campaignId)' }));
    if (startDateTime === undefined || endDateTime === undefined) throw invalidFields(missing);
    return { type: 'DELIVERY_REPORTS', filters: readSpan({ startDateTime, endDateTime }, []) };
  }
  if (startDateTime !== undefined || endDateTime !== undefined)
    throw invalidFields([{ field: 'campaignId', message: 'must not be combined with startDateTime or endDateTime' }]);
  if (!(await findCampaign(db, { accountId, id: campaignId })))
    throw invalidFields([{ field: 'campaignId', message: 'is not a campaign of this account' }]);
  return { type: 'DELIVERY_REPORTS', filters: { campaignId, ...(notReached && { notReached }) } };
}

type Span = { readonly startDateTime: string; readonly endDateTime: string };

/** Reads the two instants of a range. Errors: 400 naming their faults together with those in `faults`. */
function readSpan({ startDateTime, endDateTime }: Span, faults: FieldError[]): Span {
  const times = readTimes({ startDateTime, endDateTime });
  if (times.endDateTime < times.startDateTime)
    faults.push({ field: 'endDateTime', message: 'must not be before startDateTime' });
  if (faults.length > 0) throw invalidFields(faults);
  return { startDateTime: times.startDateTime.toISOString(), endDateTime: times.endDateTime.toISOString() };
}

async function listUnknownLists(db: Db, accountId: number, ids: readonly number[]): Promise<number[]> {
  const filter = { accountId, ids, includeDeleted: false };
  const order = { sortBy: 'id', descending: false } as const;
  const known = new Set((await listLists(db, { filter, order, limit: ids.length, offset: 0 })).map((row) => row.id));
  return ids.filter((id) => !known.has(id));
}

function refuseUnknown(field: string, ids: readonly number[]): void {
  if (ids.length === 0) return;
  const more = ids.length > MAX_LISTED_IDS ? ` and ${ids.length - MAX_LISTED_IDS} more` : '';
  throw invalidFields([{ field, message: `unknown: ${ids.slice(0, MAX_LISTED_IDS).join(', ')}${more}` }]);
}

/** The beginning of a file's name; the id of the export follows. */
const FILE_NAMES: Readonly<Record<ExportType, string>> = {
  HISTORY: 'history',
  CONTACTS: 'contacts',
  DELIVERY_REPORTS: 'delivery-reports',
  OPT_OUTS: 'opt-outs',
  PERSON: 'person',
};

type Kind = { readonly id: string; readonly type: ExportType; readonly format: ExportFormat };

const fileNameOf = ({ id, type, format }: Kind): string => `${FILE_NAMES[type]}-${id}.${format}`;
