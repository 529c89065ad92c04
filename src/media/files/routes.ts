import type { FastifyRequest } from 'fastify';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { authentication, requireAnyScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { FILE_ANSWERS, sendFile, type ServedFile } from '../../platform/http/files/send-file.ts';
import type { Scope } from '../../platform/lib/scope.ts';
import { FILES_PATH } from '../links.ts';
import { FileQuery, MediaKey } from '../schema.ts';
import { findByMediaKey, type MediaRow } from '../sql.ts';
import { serveAs } from './serve-as.ts';

/** The scope of a file, by its origin. */
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
