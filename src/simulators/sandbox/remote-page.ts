import { targetOf } from '../social/addresses.ts';
import type { SocialPage } from './routes.ts';

/**
 * Returns the consent pages of simulated social networks that run in another process, at this URL. As there, browsers
 * reach nothing else of them.
 */
export const remotePage =
  (url: string): SocialPage =>
  async (address, query) => {
    if (targetOf(address)?.purpose !== 'authorize') return { status: 404, body: 'There is no such page.' };
    const answer = await fetch(`${url}/${address}?${query.toString()}`, { redirect: 'manual' });
    const kept = ['content-type', 'content-security-policy', 'location'];
    const headers = kept.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    return { status: answer.status, headers: Object.fromEntries(headers), body: await answer.text() };
  };
