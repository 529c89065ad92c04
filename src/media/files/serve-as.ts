import { extname } from 'node:path';
import type { MediaRow } from '../sql.ts';

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
export function serveAs({ name, mimeType }: Pick<MediaRow, 'name' | 'mimeType'>): Served {
  // "audio/ogg; codecs=opus" is displayed like audio/ogg.
  const extension = INLINE_TYPES[mimeType.split(';', 1)[0] ?? ''];
  const fileName = name === '' ? 'file' : name;
  if (extension === undefined) return { contentType: 'application/octet-stream', fileName, inline: false };
  const fits = extname(fileName).toLowerCase() === extension;
  return { contentType: mimeType, fileName: fits ? fileName : `${fileName}${extension}`, inline: true };
}
