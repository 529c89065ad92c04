import { Agent, fetch } from 'undici';
import { TEST_CERT } from '../http/certificate.ts';

/**
 * Follows a browser through the pages of a provider, with its cookies, until it is sent to a URL that begins with this
 * one. Returns that URL.
 */
export async function followTo(end: string, url: string): Promise<URL> {
  const cookies = new Map<string, string>();
  await using agent = asyncAgent();
  let next = url;
  for (let steps = 0; steps < 15; steps += 1) {
    if (next.startsWith(end)) return new URL(next);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(next, { redirect: 'manual', headers: { cookie }, dispatcher: agent.dispatcher });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const equals = pair.indexOf('=');
      cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${next} returned ${answer.status}: ${await answer.text()}`);
    await answer.body?.cancel();
    next = new URL(location, next).href;
  }
  throw new Error('the provider redirects without end');
}

function asyncAgent() {
  const dispatcher = new Agent({ connect: { ca: TEST_CERT } });
  return { dispatcher, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}
