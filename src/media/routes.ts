import { extname } from 'node:path';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Scope } from '../core/actor.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, type FieldError, invalidFields } from '../core/errors.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps } from '../core/http/app.ts';
import { authentication, requireAnyScope, requireScope } from '../core/http/auth.ts';
import {
  createUploadGate,
  FILE_ANSWERS,
  formBounds,
  MULTIPART_LIMITS,
  receiveForm,
  sendFile,
  type ServedFile,
  type Upload,
} from '../core/http/files.ts';
import { idempotentHandler, idempotentTx } from '../core/http/idempotency.ts';
import { readFormFields } from '../core/http/unknown-fields.ts';
import { id, orNull } from '../core/schema.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { inspectFile } from './decoder.ts';
import { LIMITS, MEDIA_TYPES } from './inspect.ts';
import { addMedia, type Description, storeUpload } from './media.ts';
import {
  createMediaLinks,
  FILES_PATH,
  findByMediaKey,
  findUpload,
  listUploads,
  type MediaLinks,
  type MediaRow,
  removeMedia,
  revokeLinks,
} from './store.ts';

const link = (description: string) => Type.String({ format: 'uri', description });
const MimeType = Type.Enum([...MEDIA_TYPES], { type: 'string' });

/** The parts of an upload. Only for the OpenAPI description: the form is streamed. */
const UploadForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description:
      'JPEG, PNG or GIF (up to 5 MiB, 25 million pixels) or MP4 with H.264 or another video codec (up to 16 MiB).',
  }),
  name: Type.Optional(
    Type.String({ maxLength: 200, description: 'The name to use instead of the file name of the part.' }),
  ),
  description: Type.Optional(Type.String({ maxLength: 1000, description: 'A description for humans.' })),
  folderId: Type.Optional(Type.Integer({ minimum: 1, description: 'A number of your choice, to group files.' })),
});

const MediaOut = Type.Object({
  id: Type.Integer({ description: 'The `mediaId` to use in messages.' }),
  name: Type.String(),
  description: Type.String(),
  mimeType: MimeType,
  sizeBytes: Type.Integer({ description: 'The size; for pictures, after re-encoding.' }),
  width: Type.Integer({ description: 'The displayed width in pixels.' }),
  height: Type.Integer(),
  durationSeconds: orNull(Type.Number({ description: 'The duration of a video; null for pictures.' })),
  url: link('Opens the file without credentials, for 24 to 25 hours.'),
  thumbnailUrl: orNull(link('Opens a JPEG of at most 320 by 320 pixels in the same way; null for videos.')),
  folderId: orNull(Type.Integer()),
  createdAt: Type.String({ format: 'date-time' }),
});

const MediaId = Type.Object({ id: id() });
const MediaFilter = Type.Object({
  folderId: Type.Optional(id()),
  mimeType: Type.Optional(MimeType),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name, case-insensitive.' })),
});

const MediaKey = Type.Object({ mediaKey: Type.String({ maxLength: 100 }) });
const FileQuery = Type.Object({
  size: Type.Optional(Type.Literal('thumbnail', { description: 'The thumbnail instead of the picture.' })),
  signature: Type.Optional(
    Type.String({ description: 'The signature of a link, together with the other parameters of the link.' }),
  ),
});

/** Formats an upload for responses, with new links. Throws if the file is not an upload. */
function toMediaOut(row: MediaRow, links: MediaLinks, now: Date): Static<typeof MediaOut> {
  const { name, description, sizeBytes, durationSeconds, folderId } = row;
  const mimeType = MEDIA_TYPES.find((type) => type === row.mimeType);
  if (!mimeType || row.width === null || row.height === null) throw new Error(`media ${row.id} is not an upload`);
  return {
    id: row.id,
    name,
    description,
    mimeType,
    sizeBytes,
    width: row.width,
    height: row.height,
    durationSeconds,
    ...links(row, now),
    folderId,
    createdAt: row.createdAt.toISOString(),
  };
}

const PATH = '/api/partner-gateway/v1/media';
const tags = ['Media'];
const ListQuery = Type.Object({ ...pageFields, ...MediaFilter.properties });

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
      response: { 200: PageOf(MediaOut) },
    },
    handler: ({ actor, query }) => {
      const now = clock.now();
      return answerPage(query, listUploads(tenant(pool, actor), actor, query), (row) => toMediaOut(row, links, now));
    },
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findMedia',
      summary: 'Get a media file with new links',
      params: MediaId,
      response: { 200: MediaOut },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const row = await existing(findUpload(tenant(pool, { accountId }), { accountId, id: params.id }));
      return toMediaOut(row, links, clock.now());
    },
  });

  app.post(`${PATH}/:id/revoke-links`, {
    onRequest,
    schema: {
      tags,
      operationId: 'revokeMediaLinks',
      summary: 'Revoke the links to a media file',
      description: 'Messages that refer to the file by its id and are sent later get new links.',
      params: MediaId,
      response: { 200: MediaOut },
    },
    handler: idempotentTx(deps, 200, async ({ actor, params }, tx) =>
      toMediaOut(await revokeLinks(tx, actor, params), links, clock.now()),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteMedia',
      summary: 'Delete a media file',
      description: 'Its links stop working immediately.',
      params: MediaId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeMedia(tx, actor, params)),
  });
}

function uploadRoute(app: App, { pool, answers, storage, config, clock, links: signer }: PlatformDeps): void {
  const gate = createUploadGate();
  const links = createMediaLinks({ links: signer, publicUrl: config.publicUrl });
  app.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: LIMITS.videoBytes } });
  app.post(PATH, {
    onRequest: requireScope('media'),
    config: { form: UploadForm },
    schema: {
      tags,
      operationId: 'uploadMedia',
      summary: 'Upload a picture or a video',
      description: UPLOAD,
      response: { 201: MediaOut },
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
          const payload = toMediaOut(row, links, clock.now());
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
  const settings = readFormFields(request, form.fields, () => parseUploadFields(form.fields, form.fileName));
  return { settings, inspected: await inspectFile(file, form, request.actor.accountId) };
}

const MAX_NAME_LENGTH = 200;
const MAX_DESCRIPTION_LENGTH = 1000;

/** Parses the fields of an upload. Errors: 400 naming each invalid field. Unknown fields are ignored. */
function parseUploadFields(fields: ReadonlyMap<string, string>, fileName: string): Description {
  const faults: FieldError[] = [];
  const readText = (field: string, maxLength: number): string => {
    const text = fields.get(field)?.trim() ?? '';
    if (text.length > maxLength) faults.push({ field, message: `must have at most ${maxLength} characters` });
    if (text.includes('\0')) faults.push({ field, message: 'must not contain the character U+0000' });
    return text;
  };
  const name =
    readText('name', MAX_NAME_LENGTH) || fileName.replaceAll('\0', '').slice(0, MAX_NAME_LENGTH).toWellFormed();
  const description = readText('description', MAX_DESCRIPTION_LENGTH);
  const folder = fields.get('folderId')?.trim() ?? '';
  if (folder !== '' && !isId(folder)) faults.push({ field: 'folderId', message: 'must be a whole number from 1' });
  if (faults.length > 0) throw invalidFields(faults);
  return { name: name || 'untitled', description, folderId: folder === '' ? null : Number(folder) };
}

const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER;

const SCOPES = { UPLOAD: 'media', INBOUND: 'inbox' } as const satisfies Record<MediaRow['origin'], Scope>;

/**
 * Registers the download of media files, by link or with credentials. Register it outside the scope that requires
 * authentication: a link needs none.
 */
export function fileRoutes(app: App, deps: PlatformDeps): void {
  app.register(async (files: App) => {
    files.register(authentication, { authenticate: deps.authenticate, exempt: isSigned });
    files.get(`${FILES_PATH}/:mediaKey`, {
      onRequest: requireAnyScope(Object.values(SCOPES), 'read', isSigned),
      schema: {
        tags: ['Media'],
        operationId: 'downloadMedia',
        summary: 'Download a media file',
        description:
          'The `url` of a media file works without credentials until it expires or is revoked. Without its signature you ' +
          'need the scope `media` or, for files received with messages, `inbox`. Range requests are supported.',
        security: [{}, { apiKey: [] }, { basic: [] }, { session: [] }],
        params: MediaKey,
        querystring: FileQuery,
        produces: ['application/octet-stream'],
        response: FILE_ANSWERS,
      },
      handler: async (request, reply) => {
        const { mediaKey } = request.params;
        const isThumbnail = request.query.size === 'thumbnail';
        const find = isSigned(request) ? findByLink : findByKey;
        const media = await find(deps, request, { mediaKey, isThumbnail });
        return sendFile(request, reply, deps.storage, fileOf(media, isThumbnail));
      },
    });
  });
}

const isSigned = ({ query }: FastifyRequest): boolean =>
  typeof query === 'object' && query !== null && 'signature' in query;

type Wanted = { readonly mediaKey: string; readonly isThumbnail: boolean };

async function findByLink(
  { pool, links, clock }: PlatformDeps,
  request: FastifyRequest,
  wanted: Wanted,
): Promise<MediaRow> {
  const { mediaKey, isThumbnail } = wanted;
  const { method, query } = request;
  const answer = links.verify({ kind: isThumbnail ? 'thumbnail' : 'media', id: mediaKey, method, query }, clock.now());
  if (!answer.ok) {
    // Only a correctly signed link reports that it has expired.
    throw answer.reason === 'expired'
      ? new AppError('not_found', { message: 'This link has expired' })
      : new AppError('not_found');
  }
  const { accountId, version } = answer;
  const media = await findByMediaKey(tenant(pool, { accountId }), { accountId, mediaKey });
  if (!media || media.linkVersion !== version) throw new AppError('not_found');
  return media;
}

async function findByKey({ pool }: PlatformDeps, { actor }: FastifyRequest, { mediaKey }: Wanted): Promise<MediaRow> {
  const { accountId, operations } = actor;
  const media = await findByMediaKey(tenant(pool, { accountId }), { accountId, mediaKey });
  // Files of the other scope get the same response as unknown ones.
  if (!media || !operations.has(SCOPES[media.origin])) throw new AppError('not_found');
  return media;
}

function fileOf(media: MediaRow, isThumbnail: boolean): ServedFile {
  if (!isThumbnail) {
    const { fileKey: key, sizeBytes, mediaKey: etag } = media;
    return { key, sizeBytes, etag, ...serveAs(media) };
  }
  if (media.thumbnailKey === null || media.thumbnailBytes === null) throw new AppError('not_found');
  const { thumbnailKey: key, thumbnailBytes: sizeBytes, mediaKey, name } = media;
  return { key, sizeBytes, etag: `${mediaKey}-thumbnail`, ...serveAs({ name, mimeType: 'image/jpeg' }) };
}

/** Types that a browser may display, since they cannot contain scripts; files of all other types are downloaded. */
const INLINE_TYPES: Readonly<Record<string, string>> = {
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'video/mp4': '.mp4',
  'video/3gpp': '.3gp',
  'audio/aac': '.aac',
  'audio/amr': '.amr',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/x-m4a': '.m4a',
};

type Served = { readonly contentType: string; readonly fileName: string; readonly inline: boolean };

/** Returns the headers for serving a file of this type and name; the name gets the extension of its type. */
function serveAs({ name, mimeType }: Pick<MediaRow, 'name' | 'mimeType'>): Served {
  // "audio/ogg; codecs=opus" is displayed like audio/ogg.
  const extension = INLINE_TYPES[mimeType.split(';', 1)[0] ?? ''];
  const fileName = name === '' ? 'file' : name;
  if (extension === undefined) return { contentType: 'application/octet-stream', fileName, inline: false };
  const fits = extname(fileName).toLowerCase() === extension;
  return { contentType: mimeType, fileName: fits ? fileName : `${fileName}${extension}`, inline: true };
}
