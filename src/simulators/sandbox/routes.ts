import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { SandboxSocial } from '../social/server.ts';
import { SOCIAL_PAGES_PATH } from './social.ts';

export type SandboxRouteDeps = {
  /** Answers the pages of the sandbox's social networks; null without a sandbox. */
  readonly socialPage: SandboxSocial['page'] | null;
};

/** Registers the consent pages of the sandbox's social networks, if it runs. They are part of no contract. */
export function sandboxRoutes(app: App, { socialPage }: SandboxRouteDeps): void {
  if (!socialPage) return;
  app.get(`${SOCIAL_PAGES_PATH}/*`, { schema: { hide: true } }, (request, reply) => {
    const { pathname, searchParams } = new URL(request.raw.url ?? '/', 'http://localhost');
    const answer = socialPage(pathname.slice(SOCIAL_PAGES_PATH.length + 1), searchParams);
    if (typeof answer === 'string') throw new AppError('unavailable');
    return reply
      .code(answer.status)
      .headers({ ...answer.headers, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      .send(answer.body);
  });
}
