import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import multipart from '@fastify/multipart';
import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { createUploadGate, formBounds, MULTIPART_LIMITS, receiveForm, type UploadGate } from '../core/http/files.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { readFormFields } from '../core/http/unknown-fields.ts';
import { DEFAULT_NUMBER_RULES, isPhoneCountry, type NumberRules } from '../core/phone.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { type FieldRow, listFields } from './fields.ts';
import { refuseUnknownList, startImport } from './import.ts';
import { LIMITS, type TableOptions } from './import-check.ts';
import { type Cleaning, NO_CLEANING } from './import-cleaning.ts';
import { readSettings } from './import-columns.ts';
import { inspectFile, readFile, readFilePreview } from './import-reader.ts';
import * as schema from './import-schema.ts';
import { answerImport, type ImportIn, ImportOut, PENDING_EXAMPLE, type ReadingIn } from './import-schema.ts';
import {
  deleteParts,
  deleteSurplusUploads,
  deleteUpload,
  findUpload,
  insertPart,
  insertUpload,
  listParts,
  moveToTaken,
  type UploadRow,
  updateProgress,
} from './import-store.ts';
import type { Inspected, OnProgress } from './import-thread.ts';
import { findBook } from './limits.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const PART_BYTES = 1024 * 1024;

type Content = { readonly accountId: number; readonly uploadId: number; readonly sizeBytes: number };

/** Stores the content of a received file in pieces of 1 MiB, compressed. Call it in a transaction. */
async function storeContent(tx: Db, { accountId, uploadId, sizeBytes }: Content, file: FileHandle): Promise<void> {
  const piece = Buffer.alloc(Math.min(PART_BYTES, sizeBytes));
  for (let n = 0; n * PART_BYTES < sizeBytes; n++) {
    const length = Math.min(PART_BYTES, sizeBytes - n * PART_BYTES);
    const { bytesRead } = await file.read(piece, 0, length, n * PART_BYTES);
    if (bytesRead < length) throw new Error('the received file is incomplete');
    await insertPart(tx, { accountId, uploadId, n, bytes: await compress(piece.subarray(0, length)) });
  }
}

/**
 * Writes the content of a file into an open file, piece by piece; `parts` is the number of pieces, by default all. A
 * table that is only previewed needs no more than the first, except for XLSX, whose table of contents is at the end.
 */
async function loadContent(
  db: Db,
  { accountId, id: uploadId }: Pick<UploadRow, 'accountId' | 'id'>,
  file: FileHandle,
  parts = Infinity,
): Promise<void> {
  for (let n = 0; n < parts; n++) {
    const [part] = await listParts(db, { accountId, uploadId, from: n, limit: 1 });
    if (part === undefined) return;
    const bytes = await decompress(part.bytes);
    await file.write(bytes, 0, bytes.length, n * PART_BYTES);
  }
}

/** Number of files kept per account: people look at one at a time. */
export const MAX_KEPT = 5;

type Received = Inspected & { readonly fileName: string; readonly file: FileHandle };

/**
 * Keeps a received file until it is imported; beyond five, the oldest of the account is deleted. Call it in a transaction.
 */
async function keepUpload(
  tx: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  { fileName, file, format, encoding }: Received,
): Promise<UploadRow> {
  const { size: sizeBytes } = await file.stat();
  const row = await insertUpload(tx, { accountId, fileName, sizeBytes, format, encoding: encoding ?? null });
  await storeContent(tx, { accountId, uploadId: row.id, sizeBytes }, file);
  await deleteSurplusUploads(tx, { accountId, kept: MAX_KEPT });
  return row;
}

type Book = { readonly rules: NumberRules; readonly fields: readonly FieldRow[] };
type Options = Static<typeof ReadingIn> & Static<typeof ImportIn>;

const DEFAULT_PREVIEW = 10;

/** Reads the options for interpreting a stored file. Errors: 400 for an impossible country or cell position. */
function readOptions(input: Options, { rules, fields }: Book): TableOptions {
  refuseFaults(input);
  const { country = rules.defaultCountry } = input;
  return {
    removeHead: input.removeHead ?? null,
    mapping: input.mapping ?? {},
    fields,
    rules: { ...rules, defaultCountry: country },
    accountCountry: rules.defaultCountry,
    previewRows: input.limit ?? DEFAULT_PREVIEW,
    cleaning: cleaningOf(input),
  };
}

const cleaningOf = ({ names, drop, countries, plus, extract, dayFirst, monthFirst, edits }: Options): Cleaning => ({
  names: names ?? NO_CLEANING.names,
  drop: drop ?? NO_CLEANING.drop,
  countries: countries ?? NO_CLEANING.countries,
  plus: plus ?? NO_CLEANING.plus,
  extract: extract ?? NO_CLEANING.extract,
  dayFirst: dayFirst ?? NO_CLEANING.dayFirst,
  monthFirst: monthFirst ?? NO_CLEANING.monthFirst,
  edits: edits ?? NO_CLEANING.edits,
});

const PLACE = /^[1-9]\d{0,2}$/;

function refuseFaults({ country, countries = [], edits = [] }: Options): void {
  const message = 'must be two letters of ISO 3166-1, for example IT';
  const faults = [
    ...(typeof country === 'string' && !isPhoneCountry(country) ? [{ field: 'country', message }] : []),
    ...(countries.every(isPhoneCountry) ? [] : [{ field: 'countries', message }]),
    ...(edits.every(({ cells }) => Object.keys(cells).every((place) => PLACE.test(place)))
      ? []
      : [{ field: 'edits', message: 'must name cells by their columns, from 1' }]),
  ];
  if (faults.length > 0) throw invalidFields(faults);
}

/**
 * Runs work that reads a stored file, and stores its progress for clients that poll meanwhile. If progress cannot be
 * stored, it is only not shown: the work continues.
 */
async function showProgress<T>(
  db: Db,
  { accountId, id: uploadId }: Pick<UploadRow, 'accountId' | 'id'>,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const state: { writing: Promise<unknown> | null } = { writing: null };
  const write = (progress: number | null): Promise<unknown> =>
    updateProgress(db, { accountId, uploadId, progress }).catch(() => undefined);
  await write(0);
  try {
    return await work((share) => {
      state.writing ??= write(share).finally(() => {
        state.writing = null;
      });
    });
  } finally {
    await state.writing;
    await write(null);
  }
}

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
    handler: async ({ actor, params }) => {
      const { accountId } = actor;
      const deleted = await deleteUpload(tenant(pool, actor), { accountId, uploadId: params.id });
      if (deleted === 0) throw new AppError('not_found');
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
        const fields = new Map([...form.fields].filter(([name]) => name === 'fileName'));
        const { fileName } = readFormFields(request, form.fields, () => readSettings(fields, form.fileName));
        const inspected = await inspectFile(request.actor.accountId, { source: file.fd, fileName });
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
  return existing(findUpload(db, { accountId, uploadId }));
}

/** Finds a file that was not imported yet. Errors: 404. */
async function findUntaken(db: Db, actor: Actor, uploadId: number): Promise<UploadRow> {
  const row = await findOrThrow(db, actor, uploadId);
  if (row.taken) throw new AppError('not_found');
  return row;
}
