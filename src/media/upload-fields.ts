import { type FieldError, invalidFields } from '../platform/errors.ts';
import type { Description } from './add.ts';

const MAX_NAME_LENGTH = 200;
const MAX_DESCRIPTION_LENGTH = 1000;

/** Parses the fields of an upload. Errors: 400 naming each invalid field. Unknown fields are ignored. */
export function parseUploadFields(fields: ReadonlyMap<string, string>, fileName: string): Description {
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
