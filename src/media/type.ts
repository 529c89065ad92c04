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

/** Further names of the types, in what is told from contents and in what senders say. */
const ALIASES: Readonly<Record<string, MediaType>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/x-png': 'image/png',
  'video/x-m4v': 'video/mp4',
};

const named = (name: string): MediaType | undefined => ALIASES[name] ?? MEDIA_TYPES.find((type) => type === name);

/** A part that has no type reads as `text/plain` (RFC 7578, 4.4). */
const UNSPECIFIC_TYPES: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'text/plain']);

export type Claim = { readonly fileName: string; readonly contentType: string };

/**
 * What a file is, told from its content alone. Throws 400 when it is none of the types, or when its name or what its sender
 * says of it speak of another type: whoever believed those would take it for something else.
 */
export async function detectType(octets: Uint8Array, { fileName, contentType }: Claim): Promise<MediaType> {
  const found = await fileTypeFromBuffer(octets);
  const type = found && named(found.mime);
  if (!type) throw badFile(`must be JPEG, PNG, GIF or MP4${found ? `; the content is ${found.mime}` : ''}`);
  const extension = /^\.[a-z][a-z0-9]{0,4}$/i.exec(extname(fileName))?.[0].toLowerCase();
  if (extension !== undefined && !EXTENSIONS[type].includes(extension))
    throw badFile(`is called ${extension}, but the content is ${type}`);
  const said = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!UNSPECIFIC_TYPES.has(said) && named(said) !== type)
    throw badFile(`is sent as ${said.slice(0, 100)}, but the content is ${type}`);
  return type;
}
