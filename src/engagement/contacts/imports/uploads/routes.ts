import multipart from '@fastify/multipart';
import { type Static, Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../../platform/db/tenant.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError } from '../../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../../platform/http/app.ts';
import { requireScope } from '../../../../platform/http/auth.ts';
import { formBounds, MULTIPART_LIMITS, receiveForm } from '../../../../platform/http/files/receive-form.ts';
import { createUploadGate, type UploadGate } from '../../../../platform/http/files/upload-gate.ts';
import { idempotentHandler } from '../../../../platform/http/idempotency.ts';
import { withExamples } from '../../../../platform/http/schema.ts';
import { noteFormFields } from '../../../../platform/http/unknown-fields/warn.ts';
import type { Actor } from '../../../../platform/lib/actor.ts';
import { DEFAULT_NUMBER_RULES } from '../../../../platform/lib/phone/number-rules.ts';
import { openTemporaryFile } from '../../../../platform/storage/temporary-file.ts';
import { findBook } from '../../book/sql.ts';
import { listFields } from '../../fields/sql.ts';
import { answerImport } from '../answer.ts';
import type { TableOptions } from '../check-table.ts';
import { LIMITS } from '../limits.ts';
import { inspect, readFile, readFilePreview } from '../read-file.ts';
import { ImportOut, PENDING_EXAMPLE } from '../schema.ts';
import { readSettings } from '../settings.ts';
import { refuseUnknownList, startImport } from '../start.ts';
import { loadContent } from './content.ts';
import { keepUpload } from './keep.ts';
import { readOptions } from './read-options.ts';
import * as schema from './schema.ts';
import { showProgress } from './show-progress.ts';
import { deleteParts, deleteUpload, findUpload, moveToTaken, type UploadRow } from './sql.ts';

const PATH = '/api/partner-gateway/v1/contacts/uploads';
const tags = ['Contacts'];
/** A mapping of 200 columns and 1,000 corrected rows. */
const BODY_BYTES = 2 * 1024 * 1024;

/**
 * Registers the routes for files of contacts that are sent once, and then viewed, cleaned, checked and imported. The
 * console imports in this way; `upload` does all of it in one request, and cleans nothing.
 */
export function contactUploadRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('contacts');
  const gate = createUploadGate();
  app.register(async (forms: App) => {
    forms.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: LIMITS.textBytes } });
    receiveRoute(forms, deps, gate);
  });
  columnsRoute(app, deps, gate);
  importRoute(app, deps, gate);

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findContactUpload',
      summary: 'Get an uploaded file of contacts',
      description: 'Includes the progress of a check or import that is reading it.',
      params: schema.UploadId,
      response: { 200: schema.UploadOut },
    },
    handler: async ({ actor, params }) => schema.toUploadOut(await findOrThrow(tenant(pool, actor), actor, params.id)),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteContactUpload',
      summary: 'Delete an uploaded file of contacts',
      description: 'Imports that were made from it are kept.',
      params: schema.UploadId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      const { accountId } = actor;
      const deleted = await deleteUpload(tenant(pool, actor), { accountId, uploadId: params.id });
      if (deleted === 0) throw new AppError('not_found');
      return reply.code(204).send(null);
    },
  });
}

function receiveRoute(app: App, { pool, answers, config }: PlatformDeps, gate: UploadGate): void {
  app.post(PATH, {
    onRequest: requireScope('contacts'),
    config: { form: schema.FileForm },
    schema: {
      tags,
      operationId: 'sendContactFile',
      summary: 'Upload a file of contacts',
      description:
        'Keeps the file for a day, so that it can be viewed, cleaned, checked and imported without another upload. ' +
        'The newest five files of an account are kept. To import a file in one request, use `upload`.',
      response: { 201: schema.UploadOut },
    },
    handler: idempotentHandler({ answers }, (request, reply, pendingAnswer) =>
      gate.run(request.actor.accountId, async (upload) => {
        await using file = await openTemporaryFile(config.dataDir);
        if (!request.isMultipart())
          throw new AppError('unsupported_media_type', { message: 'Unsupported media type: send multipart/form-data' });
        const form = await receiveForm(request, { file, bounds: formBounds(LIMITS.textBytes), upload });
        noteFormFields(request, form.fields);
        const { fileName } = readSettings(
          new Map([...form.fields].filter(([name]) => name === 'fileName')),
          form.fileName,
        );
        const inspected = await inspect(request.actor.accountId, { source: file.fd, fileName });
        return await tenantTransaction(pool, request.actor, async (tx) => {
          if (pendingAnswer) await answers.claim(tx, pendingAnswer);
          reply.code(201);
          const payload = schema.toUploadOut(await keepUpload(tx, request.actor, { ...inspected, fileName, file }));
          if (pendingAnswer) await answers.store(tx, pendingAnswer.seal(payload));
          return payload;
        });
      }),
    ),
  });
}

function columnsRoute(app: App, deps: PlatformDeps, gate: UploadGate): void {
  app.post(`${PATH}/:id/columns`, {
    onRequest: requireScope('contacts'),
    schema: {
      tags,
      operationId: 'readContactUploadColumns',
      summary: 'Preview the columns of an uploaded CSV or XLSX file',
      description:
        'Returns the first rows of the file, its encoding, the field of each column, and the likely country of its ' +
        'numbers. Nothing is stored, and no rows are checked.',
      params: schema.UploadId,
      body: withExamples(schema.ReadingIn, { delimiter: ';', names: 'firstLast', limit: 3 }),
      response: { 200: schema.ColumnsOut },
    },
    handler: idempotentHandler(deps, ({ actor, params, body }) =>
      gate.run(actor.accountId, async () => {
        const db = tenant(deps.pool, actor);
        const upload = await findUntaken(db, actor, params.id);
        if (upload.format === 'vcard')
          throw new AppError('invalid', { message: 'A vCard file has no columns: it can be imported as it is' });
        await using source = await openTemporaryFile(deps.config.dataDir);
        await loadContent(db, upload, source, upload.format === 'csv' ? 1 : undefined);
        const options = readOptions(body, await readBook(db, actor));
        const text = textOf(upload, body);
        const { fileName } = upload;
        return schema.toColumnsOut(
          await readFilePreview(actor.accountId, { source: source.fd, fileName, options, text }),
        );
      }),
    ),
  });
}

function importRoute(app: App, deps: PlatformDeps, gate: UploadGate): void {
  const { pool, answers, config } = deps;
  app.post(`${PATH}/:id/import`, {
    onRequest: requireScope('contacts'),
    bodyLimit: BODY_BYTES,
    schema: {
      tags,
      operationId: 'importContactUpload',
      summary: 'Check or import an uploaded file of contacts',
      description:
        'As `upload`, but faulty values can be cured: `cleaning` shows the faults of the rejected rows by their ' +
        'cause, possible cures, and the changes made. With `dryRun` nothing is written. After an import the file is ' +
        'deleted.',
      params: schema.UploadId,
      body: withExamples(schema.ImportIn, { country: 'IT', drop: ['email'], plus: true, dryRun: true }),
      response: { 200: ImportOut, 202: withExamples(ImportOut, PENDING_EXAMPLE) },
    },
    handler: idempotentHandler({ answers }, ({ actor, params, body }, reply, pendingAnswer) =>
      gate.run(actor.accountId, async () => {
        const db = tenant(pool, actor);
        const upload = await findUntaken(db, actor, params.id);
        const { listId = null, dryRun = false, names = 'keep' } = body;
        await refuseUnknownList(db, actor.accountId, listId);
        const options = readOptions({ ...body, limit: 0 }, await readBook(db, actor));
        await using source = await openTemporaryFile(config.dataDir);
        await using chunks = await openTemporaryFile(config.dataDir);
        await loadContent(db, upload, source);
        const files = { source: source.fd, chunks: chunks.fd };
        const converted = await convert(db, upload, { files, options, body });
        return await tenantTransaction(pool, actor, async (tx) => {
          if (pendingAnswer) await answers.claim(tx, pendingAnswer);
          const settings = { fileName: upload.fileName, dryRun, listId, cleaning: { names } };
          const row = await startImport(tx, actor, { settings, converted, chunks });
          if (!dryRun) await takeUpload(tx, upload);
          reply.code(row.status === 'PENDING' ? 202 : 200);
          const payload = await answerImport(tx, row);
          if (pendingAnswer) await answers.store(tx, pendingAnswer.seal(payload));
          return payload;
        });
      }),
    ),
  });
}

type Body = Static<typeof schema.ImportIn>;
type ConvertInput = {
  readonly files: { readonly source: number; readonly chunks: number };
  readonly options: TableOptions;
  readonly body: Body;
};

const convert = (db: Db, upload: UploadRow, { files, options, body }: ConvertInput) =>
  showProgress(db, upload, (onProgress) =>
    readFile(
      upload.accountId,
      {
        ...files,
        kind: upload.format === 'vcard' ? 'vcard' : 'table',
        fileName: upload.fileName,
        options,
        text: textOf(upload, body),
      },
      { onProgress },
    ),
  );

/** Deletes the content of a file that is imported: a second import at the same moment gets 404. */
async function takeUpload(tx: Db, { accountId, id: uploadId }: UploadRow): Promise<void> {
  if ((await moveToTaken(tx, { accountId, uploadId })) === 0) throw new AppError('not_found');
  await deleteParts(tx, { accountId, uploadId });
}

/** Options for reading the text of a file: as requested, or else as detected when the file was received. */
const textOf = ({ encoding }: UploadRow, body: Pick<Body, 'encoding' | 'delimiter'>) => ({
  encoding: body.encoding ?? encoding ?? undefined,
  delimiter: body.delimiter,
});

async function readBook(db: Db, { accountId }: Actor) {
  const [book, fields] = await Promise.all([findBook(db, { accountId }), listFields(db, { accountId })]);
  return { rules: book ?? DEFAULT_NUMBER_RULES, fields };
}

async function findOrThrow(db: Db, { accountId }: Actor, uploadId: number): Promise<UploadRow> {
  const row = await findUpload(db, { accountId, uploadId });
  if (!row) throw new AppError('not_found');
  return row;
}

/** Finds a file that was not imported yet. Errors: 404. */
async function findUntaken(db: Db, actor: Actor, uploadId: number): Promise<UploadRow> {
  const row = await findOrThrow(db, actor, uploadId);
  if (row.taken) throw new AppError('not_found');
  return row;
}
