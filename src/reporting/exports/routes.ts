import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { isUuid } from '../../platform/lib/ids.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, PageOf, pageOf, PageQuery } from '../../platform/http/page.ts';
import { FILE_ANSWERS, sendFile } from '../../platform/http/files/send-file.ts';
import { CONTENT_SCOPES, type ExportType } from './filters.ts';
import { removeExport, repeatExport, requestExport } from './lifecycle.ts';
import { contentTypeOf, fileNameOf } from './names.ts';
import { readContactsRequest, readHistoryRequest, readReportsRequest } from './read-request.ts';
import * as schema from './schema.ts';
import { countExports, type ExportRow, findExport, listExports } from './sql.ts';
import { withExamples } from '../../platform/http/schema.ts';

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
    response: { 202: schema.ExportInList },
  });

  app.post(`${PG}/messages/history/export`, {
    onRequest: mayRequest('HISTORY'),
    schema: {
      ...describe('exportHistory', 'Export messages with their statuses'),
      body: withExamples(schema.HistoryIn, {
        startDateTime: '2026-11-01T00:00:00Z',
        endDateTime: '2026-12-01T00:00:00Z',
        channel: 'SMS',
        format: 'csv',
      }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) =>
      schema.toExportInList(await requestExport(tx, actor, { ...readHistoryRequest(body), format })),
    ),
  });

  app.post(`${PATH}/contacts`, {
    onRequest: mayRequest('CONTACTS'),
    config: { stepUp: ALL_CONTACTS },
    schema: {
      ...describe('exportContacts', 'Export contacts: by list, by id, or all'),
      body: withExamples(schema.ContactsIn, { listIds: [1], format: 'xlsx' }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const request = await readContactsRequest(tx, actor.accountId, body);
      return schema.toExportInList(await requestExport(tx, actor, { ...request, format }));
    }),
  });

  app.post(`${PATH}/delivery-reports`, {
    onRequest: mayRequest('DELIVERY_REPORTS'),
    schema: {
      ...describe('exportDeliveryReports', 'Export the delivery reports of a campaign or of a time range'),
      body: withExamples(schema.ReportsIn, {
        startDateTime: '2026-11-01T00:00:00Z',
        endDateTime: '2026-12-01T00:00:00Z',
        format: 'csv.gz',
      }),
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const request = await readReportsRequest(tx, actor.accountId, body);
      return schema.toExportInList(await requestExport(tx, actor, { ...request, format }));
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
      response: { 200: PageOf(schema.ExportInList) },
    },
    handler: async ({ actor: { accountId }, query }) => {
      const db = tenant(pool, { accountId });
      const [rows, total] = await Promise.all([
        listExports(db, { accountId, limit: query.limit, offset: offsetOf(query) }),
        countExports(db, { accountId }),
      ]);
      return pageOf(query, rows.map(schema.toExportInList), total);
    },
  });

  app.get(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'findExport',
      summary: 'Get an export: its progress and the link to its file',
      params: schema.ExportId,
      response: { 200: schema.ExportOut },
    },
    handler: async ({ actor, params }) => {
      const { accountId } = actor;
      const row = await findExport(tenant(pool, actor), { accountId, id: params.exportId });
      if (!row) throw new AppError('not_found');
      const maySee = CONTENT_SCOPES[row.type].every((scope) => actor.operations.has(scope));
      return schema.toExportOut(row, maySee ? urlOf(row) : null);
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
    config: { stepUp: ALL_CONTACTS },
    schema: {
      tags,
      operationId: 'repeatExport',
      summary: 'Repeat an expired or failed export with the same filters',
      description: 'Responds with 400 while the export is in progress or its file is available.',
      params: schema.ExportId,
      response: { 202: withExamples(schema.ExportInList, schema.QUEUED_EXAMPLE) },
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, params }, tx) =>
      schema.toExportInList(await repeatExport(tx, actor, params.exportId)),
    ),
  });

  app.delete(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteExport',
      summary: 'Delete an export, its file, and the links to it',
      params: schema.ExportId,
      response: { 204: schema.Deleted },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeExport(tx, actor, params.exportId));
      return reply.code(204).send(null);
    },
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
