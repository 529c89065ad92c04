import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import type { Mapping } from './columns.ts';

/** The settings of an upload, from the fields of its form. */
export type Settings = {
  readonly fileName: string;
  readonly removeHead: boolean | null;
  readonly previewRows: number;
  readonly listId: number | null;
  readonly dryRun: boolean;
  readonly mapping: Mapping;
};

const DEFAULT_PREVIEW = 10;
const MAX_PREVIEW = 100;
const MAX_NAME_LENGTH = 255;

/**
 * Reads the settings of an upload. `partName` is the file name of the part. Unknown fields are ignored, and empty ones
 * have no effect. Errors: 400 naming every faulty field.
 */
export function readSettings(fields: ReadonlyMap<string, string>, partName: string): Settings {
  const faults: FieldError[] = [];
  const read = <T>(field: string, fallback: T, parse: (text: string) => T | undefined, must: string): T => {
    const text = fields.get(field)?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) faults.push({ field, message: must });
    return value ?? fallback;
  };
  const settings = {
    fileName: read('fileName', partName, readName, `must have at most ${MAX_NAME_LENGTH} characters`),
    removeHead: read<boolean | null>('removeHead', null, readBoolean, 'must be true or false'),
    previewRows: read('limit', DEFAULT_PREVIEW, readInteger(0, MAX_PREVIEW), `must be from 0 to ${MAX_PREVIEW}`),
    listId: read<number | null>('listId', null, readInteger(1, Number.MAX_SAFE_INTEGER), 'must be the id of a list'),
    dryRun: read('dryRun', false, readBoolean, 'must be true or false'),
    mapping: read<Mapping>('mapping', {}, readMapping, 'must be JSON: {"column": "field", "another": null}'),
  };
  if (faults.length > 0) throw invalidFields(faults);
  return { ...settings, fileName: settings.fileName.replaceAll('\0', '').toWellFormed().slice(0, MAX_NAME_LENGTH) };
}

const readName = (text: string): string | undefined => (text.length <= MAX_NAME_LENGTH ? text : undefined);

function readBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : undefined;
}

const readInteger =
  (min: number, max: number) =>
  (text: string): number | undefined =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;

function readMapping(text: string): Mapping | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).map(([column, field]) => [column, field === '' ? null : field] as const);
  return entries.every(isPair) ? Object.fromEntries(entries) : undefined;
}

const isPair = (entry: readonly [string, unknown]): entry is readonly [string, string | null] =>
  entry[1] === null || (typeof entry[1] === 'string' && entry[1].length <= 100);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
