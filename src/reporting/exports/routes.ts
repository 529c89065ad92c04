import type { Readable } from 'node:stream';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, PageOf, pageOf, PageQuery } from '../../platform/http/page.ts';
import { sendFile } from '../../platform/http/send-file.ts';
import { contentTypeOf, fileNameOf } from './names.ts';
import { readContacts, readHistory, readReports } from './read-wanted.ts';
import { removeExport, repeatExport, requestExport } from './request.ts';
import * as schema from './schema.ts';
import { countExports, type ExportRow, findExport, listExports } from './sql.ts';

const PG = '/api/partner-gateway/v1';
const PATH = `${PG}/exports`;
const ONE = `${PATH}/:exportId`;
const FILE = `${ONE}/file`;
const tags = ['Exports'];
const onRequest = requireScope('exports');

const QUEUED =
  'Answers at once; a worker writes the file. `GET /exports/{exportId}` says how far it is, and where it is.';

/** Contract 8: files of messages and contacts. */
export function exportRoutes(app: App, deps: PlatformDeps): void {
  askingRoutes(app, deps);
  readingRoutes(app, deps);
  endingRoutes(app, deps);
}

function askingRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const ask = (operationId: string, summary: string) => ({
    tags,
    operationId,
    summary,
    description: QUEUED,
    response: { 202: schema.ExportInList },
  });

  app.post(`${PG}/messages/history/export`, {
    onRequest,
    schema: { ...ask('exportHistory', 'Export messages with what became of them'), body: schema.HistoryIn },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) =>
      schema.toExportInList(await requestExport(tx, actor, { ...readHistory(body), format })),
    ),
  });

  app.post(`${PATH}/contacts`, {
    onRequest,
    schema: { ...ask('exportContacts', 'Export contacts: of lists, these, or all'), body: schema.ContactsIn },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const wanted = await readContacts(tx, actor.accountId, body);
      return schema.toExportInList(await requestExport(tx, actor, { ...wanted, format }));
    }),
  });

  app.post(`${PATH}/delivery-reports`, {
    onRequest,
    schema: {
      ...ask('exportDeliveryReports', 'Export the delivery of the messages of a campaign, or of a range of time'),
      body: schema.ReportsIn,
    },
    handler: idempotentTx({ pool, answers }, 202, async ({ actor, body: { format = 'csv', ...body } }, tx) => {
      const wanted = await readReports(tx, actor.accountId, body);
      return schema.toExportInList(await requestExport(tx, actor, { ...wanted, format }));
    }),
  });
}

function readingRoutes(app: App, { pool, config, links }: PlatformDeps): void {
  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listExports',
      summary: 'Exports, the newest first',
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
      summary: 'One export: how far it is, and where its file is',
      params: schema.ExportId,
      response: { 200: schema.ExportOut },
    },
    handler: async ({ actor, params }) => {
      const { accountId } = actor;
      const row = await findExport(tenant(pool, actor), { accountId, id: params.exportId });
      if (!row) throw new AppError('not_found');
      return schema.toExportOut(row, urlOf(row));
    },
  });

  function urlOf({ accountId, id, version, status, expiresAt }: ExportRow): string | null {
    if (status !== 'COMPLETED' || expiresAt === null) return null;
    const target = { kind: 'export', accountId, id: String(id), version } as const;
    return `${config.publicUrl}${PATH}/${id}/file?${links.sign(target, expiresAt)}`;
  }
}

function endingRoutes(app: App, { pool, answers }: PlatformDeps): void {
  app.post(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'repeatExport',
      summary: 'Make an export again, with the same filters, when its file has expired or could not be made',
      description: 'While it is made or its file is available: 400.',
      params: schema.ExportId,
      response: { 202: schema.ExportInList },
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
      summary: 'Delete an export, its file and the links to it',
      params: schema.ExportId,
      response: { 204: schema.Gone },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeExport(tx, actor, params.exportId));
      return reply.code(204).send(null);
    },
  });
}

const LINK = 'The link is not valid, or not any more';

/** Where links lead: without credentials, since a link says itself whose it is. */
export function exportFileRoutes(app: App, { pool, storage, links, clock }: PlatformDeps): void {
  app.get(FILE, {
    schema: {
      tags,
      security: [],
      operationId: 'downloadExport',
      summary: 'The file of an export, by its signed link',
      description:
        'Serves ranges. The link comes from `GET /exports/{exportId}`; one that is not valid any more is 404.',
      produces: ['application/octet-stream'],
      params: Type.Object({ exportId: Type.String() }),
      response: { 200: Type.Unsafe<Readable>(Type.String({ description: 'The file' })) },
    },
    handler: async (request, reply) => {
      const { method, query, params } = request;
      const link = links.verify({ kind: 'export', id: params.exportId, method, query }, clock.now());
      if (!link.ok) throw new AppError('not_found', { message: LINK });
      const { accountId, version } = link;
      const row = await findExport(tenant(pool, { accountId }), { accountId, id: Number(params.exportId) });
      if (row?.status !== 'COMPLETED' || row.version !== version || row.fileKey === null || row.sizeBytes === null)
        throw new AppError('not_found', { message: LINK });
      const file = { key: row.fileKey, sizeBytes: row.sizeBytes, etag: `${row.id}-${version}` };
      return sendFile(request, reply, storage, {
        ...file,
        contentType: contentTypeOf(row.format),
        fileName: fileNameOf(row),
      });
    },
  });
}
