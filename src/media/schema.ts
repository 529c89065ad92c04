import { type Static, Type } from 'typebox';
import type { MediaLinks } from './links.ts';
import type { MediaRow } from './sql.ts';
import { MEDIA_TYPES } from './type.ts';
import { id, orNull } from '../platform/lib/schema.ts';

const link = (description: string) => Type.String({ format: 'uri', description });
const MimeType = Type.Enum([...MEDIA_TYPES], { type: 'string' });

/** The parts of an upload. For the description: a form is read as it comes. */
export const UploadForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description: 'JPEG, PNG or GIF (up to 5 MiB, 25 million pixels) or MP4 with H.264 or another video (up to 16 MiB).',
  }),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'In place of the name that the part says.' })),
  description: Type.Optional(Type.String({ maxLength: 1000, description: 'For people.' })),
  folderId: Type.Optional(Type.Integer({ minimum: 1, description: 'A number of your own, to find files by.' })),
});

export const MediaOut = Type.Object({
  id: Type.Integer({ description: 'What messages name it by (`mediaId`).' }),
  name: Type.String(),
  description: Type.String(),
  mimeType: MimeType,
  sizeBytes: Type.Integer({ description: 'Of a picture after it was written anew.' }),
  width: Type.Integer({ description: 'In pixels, as it is shown.' }),
  height: Type.Integer(),
  durationSeconds: orNull(Type.Number({ description: 'Of a video.' })),
  url: link('Opens the file without credentials, for 24 to 25 hours.'),
  thumbnailUrl: orNull(link('The same of a JPEG of at most 320 by 320 pixels; null of a video.')),
  folderId: orNull(Type.Integer()),
  createdAt: Type.String({ format: 'date-time' }),
});

export const MediaId = Type.Object({ id: id() });
export const MediaFilter = Type.Object({
  folderId: Type.Optional(id()),
  mimeType: Type.Optional(MimeType),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name, in any case.' })),
});

export const MediaKey = Type.Object({ mediaKey: Type.String({ maxLength: 100 }) });
export const FileQuery = Type.Object({
  size: Type.Optional(Type.Literal('thumbnail', { description: 'The small picture of a picture.' })),
  signature: Type.Optional(Type.String({ description: 'Of a link, with what else stands in it.' })),
});

/** A file as the interface shows it, with links made now. */
export function toMediaOut(row: MediaRow, links: MediaLinks, now: Date): Static<typeof MediaOut> {
  const { id, name, description, sizeBytes, durationSeconds, folderId } = row;
  const mimeType = MEDIA_TYPES.find((type) => type === row.mimeType);
  if (!mimeType || row.width === null || row.height === null) throw new Error(`media ${id} is no upload`);
  return {
    id,
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
