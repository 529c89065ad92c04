import { extname } from 'node:path';
import { fileTypeFromBuffer } from 'file-type';
import { badFile } from './limits.ts';

export const MEDIA_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'video/mp4'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

const EXTENSIONS: Record<MediaType, readonly string[]> = {
  'image/jpeg': ['.jpg', '.jpeg', '.jpe', '.jfif'],
  'image/png': ['.png', '.apng'],
  'image/gif': ['.gif'],
  'video/mp4': ['.mp4', '.m4v'],
};

/** Other names of the types, used by type detection and by senders. */
const ALIASES: Readonly<Record<string, MediaType>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/x-png': 'image/png',
  'video/x-m4v': 'video/mp4',
};

const named = (name: string): MediaType | undefined => ALIASES[name] ?? MEDIA_TYPES.find((type) => type === name);

/** Declared types without information. A part without a type counts as `text/plain` (RFC 7578, 4.4). */
const UNSPECIFIC_TYPES: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'text/plain']);

/** The file name and the type that the sender declares. */
export type Claim = { readonly fileName: string; readonly contentType: string };

/**
 * Detects the type of a file from its content alone. Throws 400 if it is not a supported type, or if its name or its
 * declared type contradict the content: a client that relies on them would misread the file.
 */
export async function detectType(octets: Uint8Array, { fileName, contentType }: Claim): Promise<MediaType> {
  const found = await fileTypeFromBuffer(octets);
  const type = found && named(found.mime);
  if (!type) throw badFile(`must be JPEG, PNG, GIF or MP4${found ? `; its content is ${found.mime}` : ''}`);
  const extension = /^\.[a-z][a-z0-9]{0,4}$/i.exec(extname(fileName))?.[0].toLowerCase();
  if (extension !== undefined && !EXTENSIONS[type].includes(extension))
    throw badFile(`has the extension ${extension}, but its content is ${type}`);
  const said = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!UNSPECIFIC_TYPES.has(said) && named(said) !== type)
    throw badFile(`was sent as ${said.slice(0, 100)}, but its content is ${type}`);
  return type;
}
