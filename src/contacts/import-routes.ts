import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import {
  answerPage,
  type App,
  pageFields,
  PageOf,
  PageQuery,
  type PlatformDeps,
  withExamples,
} from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import {
  createUploadGate,
  formBounds,
  MULTIPART_LIMITS,
  receiveForm,
  type Upload,
  type UploadGate,
} from '../core/http/files.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { readFormFields } from '../core/http/unknown-fields.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { listFields } from './fields.ts';
import { refuseUnknownList, startImport } from './import.ts';
import { LIMITS } from './import-check.ts';
import { readSettings } from './import-columns.ts';
import { readFile, readFilePreview } from './import-reader.ts';
import * as schema from './import-schema.ts';
import { answerImport, findImportOrThrow } from './import-schema.ts';
import { listImports, listRejectsWith, rejectsCsv } from './import-store.ts';
import type { FileKind } from './import-thread.ts';
import { findBook } from './limits.ts';

const PATH = '/api/partner-gateway/v1/contacts';
const tags = ['Contacts'];
const UPLOAD =
  'Contacts are created, or changed if their number exists: a cell that is not empty replaces the old value. Up to 5,000 ' +
  'rows are imported immediately, all or none (200). A larger file is imported in the background (202, `PENDING`), and ' +
  '`imports/{id}` shows the progress. If the file as a whole is faulty, the response is 400 or 413, and nothing is ' +
  'written. Opt-outs are kept; a column `optedOut` adds to them.';

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
      summary: 'List contact imports',
      description: 'The newest first.',
      querystring: PageQuery,
      response: { 200: PageOf(schema.ImportInList) },
    },
    handler: ({ actor, query }) =>
      answerPage(query, listImports(tenant(pool, actor), actor, query), schema.toImportInList),
  });

  app.get(`${PATH}/imports/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findContactImport',
      summary: 'Get the progress and the result of a contact import',
      params: schema.ImportId,
      response: { 200: schema.ImportOut },
    },
    handler: async ({ actor, params }) => {
      const db = tenant(pool, actor);
      return answerImport(db, await findImportOrThrow(db, actor, params.id));
    },
  });

  app.get(`${PATH}/imports/:id/rows`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listContactImportRows',
      summary: 'List rejected rows of a contact import',
      description: 'Of the first 10,000 rejected rows, with their cells, in the order of the file.',
      params: schema.ImportId,
      querystring: RowsQuery,
      response: { 200: PageOf(schema.RejectedRow) },
    },
    handler: async ({ actor, params, query }) => {
      const db = tenant(pool, actor);
      const { accountId, id: importId } = await findImportOrThrow(db, actor, params.id);
      const which = { accountId, importId, fault: schema.faultFilterOf(query) };
      return answerPage(query, listRejectsWith(db, which, query), schema.toRejectedRow);
    },
  });

  app.get(`${PATH}/imports/:id/rejects`, {
    onRequest,
    schema: {
      tags,
      operationId: 'downloadContactImportRejects',
      summary: 'Download the rejected rows of a contact import as CSV',
      description: 'The first 10,000 rejected rows, with the reasons.',
      produces: ['text/csv'],
      params: schema.ImportId,
      response: { 200: Type.Unsafe<Readable>(Type.String({ description: 'The rejected rows' })) },
    },
    handler: async ({ actor, params }, reply) => {
      const db = tenant(pool, actor);
      const row = await findImportOrThrow(db, actor, params.id);
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="rejects-${row.id}.csv"`)
        .send(Readable.from(rejectsCsv(db, row)));
    },
  });
}

const RowsQuery = Type.Object({ ...pageFields, ...schema.rowsFilterFields });

type UploadRoute = { readonly kind: FileKind; readonly path: string; readonly summary: string };

function uploadRoute(app: App, deps: PlatformDeps, gate: UploadGate, { kind, path, summary }: UploadRoute): void {
  const { pool, answers } = deps;
  app.post(PATH + path, {
    onRequest: requireScope('contacts'),
    config: { form: kind === 'table' ? schema.UploadForm : schema.VcardForm },
    schema: {
      tags,
      operationId: kind === 'table' ? 'uploadContacts' : 'uploadVcards',
      summary,
      description: UPLOAD,
      response: { 200: schema.ImportOut, 202: withExamples(schema.ImportOut, schema.PENDING_EXAMPLE) },
    },
    handler: idempotentHandler({ answers }, (request, reply, pendingAnswer) =>
      gate.run(request.actor.accountId, async (upload) => {
        await using source = await openTemporaryFile(deps.config.dataDir);
        await using chunks = await openTemporaryFile(deps.config.dataDir);
        const read = await readUpload(pool, request, { kind, source, chunks, upload });
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

/**
 * Registers the preview of an upload. It changes nothing, so no response is stored: a repeated request is run again.
 */
function previewRoute(app: App, deps: PlatformDeps, gate: UploadGate): void {
  app.post(`${PATH}/upload/columns`, {
    onRequest: requireScope('contacts'),
    config: { form: schema.PreviewForm },
    schema: {
      tags,
      operationId: 'readUploadColumns',
      summary: 'Preview the columns of a CSV or XLSX file',
      description:
        'Returns the first rows of the file and the field of each column, so that a person can choose a `mapping`. ' +
        'Nothing is stored, and no rows are checked.',
      response: { 200: schema.PreviewOut },
    },
    handler: idempotentHandler(deps, (request) =>
      gate.run(request.actor.accountId, async (upload) => {
        await using source = await openTemporaryFile(deps.config.dataDir);
        const files = { source, upload };
        const { settings, options } = await readUploadForm(deps.pool, request, files, schema.PreviewForm);
        const { fileName } = settings;
        const preview = await readFilePreview(request.actor.accountId, { source: source.fd, fileName, options });
        return schema.toPreviewOut(preview);
      }),
    ),
  });
}

type FormFile = { readonly source: FileHandle; readonly upload: Upload };
type Files = FormFile & { readonly kind: FileKind; readonly chunks: FileHandle };

/** Reads the parts that need no transaction: the form with its fields, and the whole file. */
async function readUpload(pool: Pool, request: FastifyRequest, files: Files) {
  const { settings, options } = await readUploadForm(pool, request, files);
  const { kind, source, chunks } = files;
  const conversion = { source: source.fd, chunks: chunks.fd, kind, fileName: settings.fileName, options };
  const converted = await readFile(request.actor.accountId, conversion);
  return { settings, converted };
}

/** Reads the form of an upload: the fields that `shape` has (others are ignored), and the file into `source`. */
async function readUploadForm(
  pool: Pool,
  request: FastifyRequest,
  { source, upload }: FormFile,
  shape: { readonly properties: object } = schema.UploadForm,
) {
  if (!request.isMultipart())
    throw new AppError('unsupported_media_type', { message: 'Unsupported media type: send multipart/form-data' });
  const form = await receiveForm(request, { file: source, bounds: formBounds(LIMITS.textBytes), upload });
  const fields = new Map([...form.fields].filter(([name]) => name in shape.properties));
  const settings = readFormFields(request, form.fields, () => readSettings(fields, form.fileName));
  const { accountId } = request.actor;
  const db = tenant(pool, { accountId });
  await refuseUnknownList(db, accountId, settings.listId);
  const [book, customFields] = await Promise.all([findBook(db, { accountId }), listFields(db, { accountId })]);
  return { settings, options: { ...settings, fields: customFields, rules: book ?? DEFAULT_NUMBER_RULES } };
}
