import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { SandboxSocial } from '../social/server.ts';
import { SOCIAL_PAGES_PATH } from './social.ts';

/** As `SandboxSocial.page`; the networks may be in another process. */
export type SocialPage = (
  ...asked: Parameters<SandboxSocial['page']>
) => ReturnType<SandboxSocial['page']> | Promise<ReturnType<SandboxSocial['page']>>;

export type SandboxRouteDeps = {
  /** Serves the pages of the sandbox's social networks; null without a sandbox. */
  readonly socialPage: SocialPage | null;
};

/** Registers the consent pages of the sandbox's social networks, if it runs. They are part of no contract. */
export function sandboxRoutes(app: App, { socialPage }: SandboxRouteDeps): void {
  if (!socialPage) return;
  app.get(`${SOCIAL_PAGES_PATH}/*`, { schema: { hide: true } }, async (request, reply) => {
    const { pathname, searchParams } = new URL(request.raw.url ?? '/', 'http://localhost');
    const answer = await socialPage(pathname.slice(SOCIAL_PAGES_PATH.length + 1), searchParams);
    if (typeof answer === 'string') throw new AppError('unavailable');
    return reply
      .code(answer.status)
      .headers({ ...answer.headers, 'referrer-policy': 'no-referrer' })
      .send(answer.body);
  });
}
