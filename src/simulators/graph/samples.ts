import { randomBytes } from 'node:crypto';
import type { SandboxRequest } from '../http/server.ts';
import { type Answer, type Fault, faultAnswer, noObject, ok } from './answer.ts';

/** Samples of files for headers of templates: told of first, then sent (protocol sheet whatsapp, section 4). */
export type Samples = {
  begin(query: URLSearchParams): Answer;
  /** The octets; or, asked by GET, how many are there. */
  put(id: string, request: SandboxRequest): Answer;
  /** Whether this handle was given out here. */
  has(handle: string): boolean;
};

const TYPES = ['image/jpeg', 'image/png', 'video/mp4', 'application/pdf'];
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** The oldest go: a sandbox outlives few templates. */
const MAX_SAMPLES = 1000;

export function createSamples(): Samples {
  const awaited = new Map<string, number>();
  const handles = new Set<string>();

  function begin(query: URLSearchParams): Answer {
    const fault = beginFault(query);
    if (fault) return faultAnswer(fault);
    const id = `upload:${randomBytes(16).toString('hex')}`;
    awaited.set(id, Number(query.get('file_length')));
    dropOldest(awaited);
    return ok({ id });
  }

  function put(id: string, { method, headers, body }: SandboxRequest): Answer {
    const length = awaited.get(id);
    if (length === undefined) return noObject(id);
    if (method === 'GET') return ok({ id, file_offset: 0 });
    if (!headers.authorization?.startsWith('OAuth ')) return faultAnswer({ code: 190, details: 'OAuth is expected' });
    if (headers['file_offset'] !== '0') return faultAnswer({ code: 100, details: 'file_offset: 0' });
    if (body.length !== length) return faultAnswer({ code: 100, details: `file_length: ${length} octets are awaited` });
    awaited.delete(id);
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
