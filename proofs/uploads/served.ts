import type { Client } from '../../test/support/client.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Run } from '../lib/proof.ts';

const MEDIA = '/api/partner-gateway/v1/media?limit=1000';
const INERT_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'video/mp4'];
/** Scripts that the hostile files carry. */
const SCRIPT = /<script|<svg|<\?php|onload=/i;

/** Counts the files that the account has, and those that are served in a way in which one could run. */
export async function countActive(
  client: Client,
  origin: string,
  run: Run,
): Promise<Record<'served' | 'lively', number>> {
  const report = createFaultLog(run);
  const { body } = await client.request('GET', MEDIA);
  const files: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'data') : undefined;
  if (!Array.isArray(files)) throw new Error('expected a list of media');
  const links = files.flatMap((file) => [Reflect.get(file, 'url'), Reflect.get(file, 'thumbnailUrl')]).filter(isText);
  let lively = 0;
  for (const link of links) {
    const { pathname, search } = new URL(link);
    const fault = await faultOf(await fetch(`${origin}${pathname}${search}`));
    if (fault === undefined) continue;
    lively++;
    report(fault, `${link}: ${fault}`);
  }
  return { served: links.length, lively };
}

const isText = (value: unknown): value is string => typeof value === 'string';

async function faultOf(response: Response): Promise<string | undefined> {
  const { status, headers } = response;
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
  if (status !== 200) return `answers ${status}`;
  if (!INERT_TYPES.includes(headers.get('content-type') ?? '')) return `is ${headers.get('content-type')}`;
  if (headers.get('x-content-type-options') !== 'nosniff') return 'lacks nosniff';
  if (!/default-src 'none'.*sandbox/.test(headers.get('content-security-policy') ?? ''))
    return 'lacks a sandboxing policy';
  return SCRIPT.test(text) ? 'holds a script' : undefined;
}
