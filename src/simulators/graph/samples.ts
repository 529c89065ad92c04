import { randomBytes } from 'node:crypto';
import type { SandboxRequest } from '../http/server.ts';
import { type Answer, type Fault, faultAnswer, unknownObject, ok } from './answer.ts';

/**
 * The uploads of sample files for template headers: announced first, then sent (Cloud API, message templates).
 */
export type Samples = {
  /** Handles the announcement of a file. */
  begin(query: URLSearchParams): Answer;
  /** Handles the upload of a file, or a GET for its progress. */
  put(id: string, request: SandboxRequest): Answer;
  /** Returns true if this handle was issued here. */
  has(handle: string): boolean;
};

const TYPES = ['image/jpeg', 'image/png', 'video/mp4', 'application/pdf'];
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** Maximum uploads and handles; beyond it the oldest are dropped. */
const MAX_SAMPLES = 1000;

/** Creates the endpoint for sample files. */
export function createSamples(): Samples {
  /** The announced length of each upload that has not arrived. */
  const expected = new Map<string, number>();
  const handles = new Set<string>();

  function begin(query: URLSearchParams): Answer {
    const fault = beginFault(query);
    if (fault) return faultAnswer(fault);
    const id = `upload:${randomBytes(16).toString('hex')}`;
    expected.set(id, Number(query.get('file_length')));
    dropOldest(expected);
    return ok({ id });
  }

  function put(id: string, { method, headers, body }: SandboxRequest): Answer {
    const length = expected.get(id);
    if (length === undefined) return unknownObject(id);
    if (method === 'GET') return ok({ id, file_offset: 0 });
    if (!headers.authorization?.startsWith('OAuth '))
      return faultAnswer({ code: 190, details: 'Authorization must have the scheme OAuth' });
    if (headers['file_offset'] !== '0') return faultAnswer({ code: 100, details: 'file_offset must be 0' });
    if (body.length !== length) return faultAnswer({ code: 100, details: `file_length: expected ${length} bytes` });
    expected.delete(id);
    const h = `4::${randomBytes(24).toString('base64url')}`;
    handles.add(h);
    dropOldest(handles);
    return ok({ h });
  }

  return { begin, put, has: (handle) => handles.has(handle) };
}

function beginFault(query: URLSearchParams): Fault | null {
  const length = Number(query.get('file_length'));
  if (!Number.isInteger(length) || length < 1 || length > MAX_FILE_BYTES) return { code: 100, details: 'file_length' };
  if (!query.get('file_name')) return { code: 100, details: 'file_name' };
  const type = query.get('file_type') ?? '';
  return TYPES.includes(type) ? null : { code: 100, details: `file_type: ${type} is not supported` };
}

function dropOldest(kept: Map<string, number> | Set<string>): void {
  const [oldest] = kept.keys();
  if (kept.size > MAX_SAMPLES && oldest !== undefined) kept.delete(oldest);
}
