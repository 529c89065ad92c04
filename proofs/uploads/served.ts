import type { Client } from '../../test/support/client.ts';
import { createExamples } from '../examples.ts';
import type { Run } from '../proof.ts';

const MEDIA = '/api/partner-gateway/v1/media?limit=1000';
const INERT_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'video/mp4'];
/** What the hostile files carry. */
const SCRIPT = /<script|<svg|<\?php|onload=/i;

/** How many files the account has, and how many of them are served in a way in which one could come to life. */
export async function countLively(
  client: Client,
  origin: string,
  run: Run,
): Promise<Record<'served' | 'lively', number>> {
  const tell = createExamples(run);
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
    tell(fault, `${link}: ${fault}`);
  }
  return { served: links.length, lively };
}

const isText = (value: unknown): value is string => typeof value === 'string';

async function faultOf(response: Response): Promise<string | undefined> {
  const { status, headers } = response;
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
  if (status !== 200) return `answers ${status}`;
  if (!INERT_TYPES.includes(headers.get('content-type') ?? '')) return `is ${headers.get('content-type')}`;
  if (headers.get('x-content-type-options') !== 'nosniff') return 'may be sniffed';
  if (!/default-src 'none'.*sandbox/.test(headers.get('content-security-policy') ?? '')) return 'may load and run';
  return SCRIPT.test(text) ? 'has a script in it' : undefined;
}
