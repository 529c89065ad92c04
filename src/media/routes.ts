import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../platform/db/tenant.ts';
import { AppError } from '../platform/errors.ts';
import { requireScope } from '../platform/http/auth.ts';
import type { PlatformDeps, App } from '../platform/http/app.ts';
import { idempotentHandler, idempotentTx } from '../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../platform/http/page.ts';
import { formBounds, MULTIPART_LIMITS, receiveForm } from '../platform/http/files/receive-form.ts';
import { noteFormFields } from '../platform/http/unknown-fields/warn.ts';
import { createUploadGate, type Upload } from '../platform/http/files/upload-gate.ts';
import { openTemporaryFile } from '../platform/storage/temporary-file.ts';
import { addMedia, storeUpload } from './add.ts';
import { inspectFile } from './inspect-file.ts';
import { LIMITS } from './limits.ts';
import { createMediaLinks } from './links.ts';
import { removeMedia } from './remove.ts';
import { revokeLinks } from './links.ts';
import * as schema from './schema.ts';
import { parseUploadFields } from './upload-fields.ts';
import { countUploads, findUpload, listUploads } from './sql.ts';

const PATH = '/api/partner-gateway/v1/media';
const tags = ['Media'];
const ListQuery = Type.Object({ ...pageFields, ...schema.MediaFilter.properties });

const UPLOAD =
  'The type is detected from the content. A file name or `Content-Type` that contradicts it is 400, and so are SVG, files ' +
  'that are also something else (polyglots), and files that cannot be decoded. Pictures are re-encoded: rotated upright, ' +
  'and without camera metadata; animations are kept. Videos are stored unchanged.';

/**
 * Registers the routes for pictures and videos to send. All need the scope `media`; a foreign id gets the same response
 * as an unknown one.
 */
export function mediaRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireScope('media');
  const links = createMediaLinks({ links: deps.links, publicUrl: deps.config.publicUrl });

  app.register(async (forms: App) => uploadRoute(forms, deps));

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listMedia',
      summary: 'List uploaded media files, newest first',
      querystring: ListQuery,
      response: { 200: PageOf(schema.MediaOut) },
    },
    handler: async ({ actor: { accountId }, query }) => {
      const db = tenant(pool, { accountId });
      const filter = {
        accountId,
        folderId: query.folderId ?? null,
        mimeType: query.mimeType ?? null,
        name: query.name ?? '',
      };
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listUploads(db, { ...filter, ...page }), countUploads(db, filter)]);
      const now = clock.now();
      return pageOf(
        query,
        rows.map((row) => schema.toMediaOut(row, links, now)),
        total,
      );
    },
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findMedia',
      summary: 'Get a media file with new links',
      params: schema.MediaId,
      response: { 200: schema.MediaOut },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const row = await findUpload(tenant(pool, { accountId }), { accountId, id: params.id });
      if (!row) throw new AppError('not_found');
      return schema.toMediaOut(row, links, clock.now());
    },
  });

  app.post(`${PATH}/:id/revoke-links`, {
    onRequest,
    schema: {
      tags,
      operationId: 'revokeMediaLinks',
      summary: 'Revoke the links to a media file',
      description: 'Messages that refer to the file by its id and are sent later get new links.',
      params: schema.MediaId,
      response: { 200: schema.MediaOut },
    },
    handler: idempotentTx(deps, 200, async ({ actor, params }, tx) =>
      schema.toMediaOut(await revokeLinks(tx, actor, params), links, clock.now()),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteMedia',
      summary: 'Delete a media file',
      description: 'Its links stop working immediately.',
      params: schema.MediaId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeMedia(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}

function uploadRoute(app: App, { pool, answers, storage, config, clock, links: signer }: PlatformDeps): void {
  const gate = createUploadGate();
  const links = createMediaLinks({ links: signer, publicUrl: config.publicUrl });
  app.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: LIMITS.videoBytes } });
  app.post(PATH, {
    onRequest: requireScope('media'),
    config: { form: schema.UploadForm },
    schema: {
      tags,
      operationId: 'uploadMedia',
      summary: 'Upload a picture or a video',
      description: UPLOAD,
      response: { 201: schema.MediaOut },
    },
    handler: idempotentHandler({ answers }, (request, reply, pendingAnswer) =>
      gate.run(request.actor.accountId, async (upload) => {
        const { actor } = request;
        const { inspected, settings } = await readUpload(request, upload, config.dataDir);
        const stored = await storeUpload({ db: tenant(pool, actor), storage }, actor, inspected);
        return tenantTransaction(pool, actor, async (tx) => {
          if (pendingAnswer) await answers.claim(tx, pendingAnswer);
          const row = await addMedia(tx, actor, { ...settings, stored });
          reply.code(201);
          const payload = schema.toMediaOut(row, links, clock.now());
          if (pendingAnswer) await answers.store(tx, pendingAnswer.seal(payload));
          return payload;
        });
      }),
    ),
  });
}

/** Receives and checks an upload (the form, its fields, the file), without using the database. */
async function readUpload(request: FastifyRequest, upload: Upload, dataDir: string) {
  if (!request.isMultipart())
    throw new AppError('unsupported_media_type', { message: 'Unsupported media type: send multipart/form-data' });
  await using file = await openTemporaryFile(dataDir);
  const form = await receiveForm(request, { file, bounds: formBounds(LIMITS.videoBytes), upload });
  noteFormFields(request, form.fields);
  const settings = parseUploadFields(form.fields, form.fileName);
  return { settings, inspected: await inspectFile(file, form, request.actor.accountId) };
}
