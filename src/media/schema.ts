import { type Static, Type } from 'typebox';
import type { MediaLinks } from './links.ts';
import type { MediaRow } from './sql.ts';
import { MEDIA_TYPES } from './type.ts';
import { id, orNull } from '../platform/lib/schema.ts';

const link = (description: string) => Type.String({ format: 'uri', description });
const MimeType = Type.Enum([...MEDIA_TYPES], { type: 'string' });

/** The parts of an upload. Only for the OpenAPI description: the form is streamed. */
export const UploadForm = Type.Object({
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

export const MediaOut = Type.Object({
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

export const MediaId = Type.Object({ id: id() });
export const MediaFilter = Type.Object({
  folderId: Type.Optional(id()),
  mimeType: Type.Optional(MimeType),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name, case-insensitive.' })),
});

export const MediaKey = Type.Object({ mediaKey: Type.String({ maxLength: 100 }) });
export const FileQuery = Type.Object({
  size: Type.Optional(Type.Literal('thumbnail', { description: 'The thumbnail instead of the picture.' })),
  signature: Type.Optional(
    Type.String({ description: 'The signature of a link, together with the other parameters of the link.' }),
  ),
});

/** Formats an upload for responses, with new links. Throws if the file is not an upload. */
export function toMediaOut(row: MediaRow, links: MediaLinks, now: Date): Static<typeof MediaOut> {
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
