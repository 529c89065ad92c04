import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import type { Db } from '../../../platform/db/query.ts';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/http/actor.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, PageOf, pageOf, PageQuery } from '../../../platform/http/page.ts';
import { formBounds, MULTIPART_LIMITS, receiveForm } from '../../../platform/http/receive-form.ts';
import { createUploadGate } from '../../../platform/http/upload-gate.ts';
import { openTemporaryFile } from '../../../platform/storage/temporary-file.ts';
import { findBook } from '../book/sql.ts';
import { listFields } from '../fields/sql.ts';
import { readFile, readFilePreview } from './read-file.ts';
import type { FileKind } from './reading/convert.ts';
import { LIMITS } from './limits.ts';
import { rejectsCsv } from './rejects.ts';
import * as schema from './schema.ts';
import { readSettings } from './settings.ts';
import { countImports, findImport, type ImportRow, listImports, listRejects } from './sql.ts';
import { refuseUnknownList, startImport } from './start.ts';

const PATH = '/api/partner-gateway/v1/contacts';
const tags = ['Contacts'];
/** Rows whose faults an answer names. */
const SHOWN_REJECTS = 1000;

const UPLOAD =
  'Contacts are created or, by number, changed: a cell that is not empty replaces what was there. Up to 5,000 rows are ' +
  'done at once, all or none (200); more are done by and by (202, `PENDING`), and `imports/{id}` says how far. Whatever ' +
  'is wrong with the file as a whole is 400 or 413, and then nothing is written. Opt-outs stay; a column `optedOut` adds ' +
  'to them.';

/** Contract 4, Upload: contacts from files, and what became of them. */
export function importRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('contacts');

  app.register(async (forms: App) => {
    const gate = createUploadGate();
    forms.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: LIMITS.textBytes } });
    uploadRoute(forms, deps, gate, { kind: 'table', path: '/upload', summary: 'Import contacts from CSV or XLSX' });
    previewRoute(forms, deps, gate);
    uploadRoute(forms, deps, gate, { kind: 'vcard', path: '/upload/vcard', summary: 'Import contacts from vCards' });
  });

  app.get(`${PATH}/imports`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listContactImports',
      summary: 'Imports of contacts, the newest first',
      querystring: PageQuery,
      response: { 200: PageOf(schema.ImportInList) },
    },
    handler: async ({ actor: { accountId }, query }) => {
      const db = tenant(pool, { accountId });
      const [rows, total] = await Promise.all([
        listImports(db, { accountId, limit: query.limit, offset: offsetOf(query) }),
        countImports(db, { accountId }),
      ]);
      return pageOf(query, rows.map(schema.toImportInList), total);
    },
  });

  app.get(`${PATH}/imports/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findContactImport',
      summary: 'One import: how far it is, and what was not brought in',
      params: schema.ImportId,
      response: { 200: schema.ImportOut },
    },
    handler: async ({ actor, params }) => {
      const db = tenant(pool, actor);
      return answerImport(db, await findOrThrow(db, actor, params.id));
    },
  });

  app.get(`${PATH}/imports/:id/rejects`, {
    onRequest,
    schema: {
      tags,
      operationId: 'downloadContactImportRejects',
      summary: 'The rows that were not brought in, as CSV with the reasons: the first 10,000',
      produces: ['text/csv'],
      params: schema.ImportId,
      response: { 200: Type.Unsafe<Readable>(Type.String({ description: 'The rows' })) },
    },
    handler: async ({ actor, params }, reply) => {
      const db = tenant(pool, actor);
      const row = await findOrThrow(db, actor, params.id);
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="rejects-${row.id}.csv"`)
        .send(Readable.from(rejectsCsv(db, row)));
    },
  });
}

type Upload = { readonly kind: FileKind; readonly path: string; readonly summary: string };
type Gate = ReturnType<typeof createUploadGate>;

function uploadRoute(app: App, deps: PlatformDeps, gate: Gate, { kind, path, summary }: Upload): void {
  const { pool, answers } = deps;
  app.post(PATH + path, {
    onRequest: requireScope('contacts'),
    config: { form: kind === 'table' ? schema.UploadForm : schema.VcardForm },
    schema: {
      tags,
      operationId: kind === 'table' ? 'uploadContacts' : 'uploadVcards',
      summary,
      description: UPLOAD,
      response: { 200: schema.ImportOut, 202: schema.ImportOut },
    },
    handler: idempotentHandler({ answers }, (request, reply, pendingAnswer) =>
      gate.run(request.actor.accountId, async () => {
        await using source = await openTemporaryFile(deps.config.dataDir);
        await using chunks = await openTemporaryFile(deps.config.dataDir);
        const read = await readUpload(pool, request, { kind, source, chunks });
        return await tenantTransaction(pool, request.actor, async (tx) => {
          if (pendingAnswer) await answers.claim(tx, pendingAnswer);
          const row = await startImport(tx, request.actor, { ...read, chunks });
          reply.code(row.status === 'PENDING' ? 202 : 200);
          const payload = await answerImport(tx, row);
          if (pendingAnswer) await answers.store(tx, pendingAnswer.seal(payload));
          return payload;
        });
      }),
    ),
  });
}

/** Changes nothing, so no answer is stored: a request that comes again is simply answered again. */
function previewRoute(app: App, deps: PlatformDeps, gate: Gate): void {
  app.post(`${PATH}/upload/columns`, {
    onRequest: requireScope('contacts'),
    config: { form: schema.PreviewForm },
    schema: {
      tags,
      operationId: 'readUploadColumns',
      summary: 'How a CSV or XLSX begins, and what its columns would become',
      description: 'Nothing is stored, and no row is checked. For a person who is to choose a `mapping`.',
      response: { 200: schema.PreviewOut },
    },
    handler: idempotentHandler(deps, (request) =>
      gate.run(request.actor.accountId, async () => {
        await using source = await openTemporaryFile(deps.config.dataDir);
        const { settings, options } = await readUploadForm(deps.pool, request, source, schema.PreviewForm);
        const { fileName } = settings;
        return schema.toPreviewOut(await readFilePreview({ source: source.fd, fileName, options }));
      }),
    ),
  });
}

type Files = { readonly kind: FileKind; readonly source: FileHandle; readonly chunks: FileHandle };

/** Everything that needs no transaction: the form, its fields, the whole file. */
async function readUpload(pool: Pool, request: FastifyRequest, { kind, source, chunks }: Files) {
  const { settings, options } = await readUploadForm(pool, request, source);
  const { fileName } = settings;
  const converted = await readFile({ source: source.fd, chunks: chunks.fd, kind, fileName, options });
  return { settings, converted };
}

/** `shape` names the fields that are read; others are ignored. */
async function readUploadForm(
  pool: Pool,
  request: FastifyRequest,
  source: FileHandle,
  shape: { readonly properties: object } = schema.UploadForm,
) {
  if (!request.isMultipart())
    throw new AppError('unsupported_media_type', { message: 'Unsupported media type: send multipart/form-data' });
  const form = await receiveForm(request, source, formBounds(LIMITS.textBytes));
  const fields = new Map([...form.fields].filter(([name]) => name in shape.properties));
  const settings = readSettings(fields, form.fileName);
  const { accountId } = request.actor;
  const db = tenant(pool, { accountId });
  await refuseUnknownList(db, accountId, settings.listId);
  const [book, customFields] = await Promise.all([findBook(db, { accountId }), listFields(db, { accountId })]);
  return { settings, options: { ...settings, fields: customFields, defaultCountry: book?.defaultCountry ?? null } };
}

async function findOrThrow(db: Db, { accountId }: Actor, id: number): Promise<ImportRow> {
  const row = await findImport(db, { accountId, id });
  if (!row) throw new AppError('not_found');
  return row;
}

async function answerImport(db: Db, row: ImportRow) {
  const which = { accountId: row.accountId, importId: row.id, afterLine: -1, limit: SHOWN_REJECTS };
  return schema.toImportOut(row, await listRejects(db, which));
}
