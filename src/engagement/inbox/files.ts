import type { Pool } from 'pg';
import { tenant } from '../../platform/db/tenant.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { listMediaLinks, mediaForSend } from '../../media/for-send.ts';
import { createMediaLinks } from '../../media/links.ts';
import type { LinkSigner } from '../../platform/storage/signed-links.ts';
import type { FindFiles } from './answer.ts';
import type { FindFile } from './compose.ts';

type Deps = {
  readonly pool: Pool;
  readonly links: LinkSigner;
  readonly clock: Clock;
  readonly config: { readonly publicUrl: string };
};

/**
 * Creates the lookup of stored files: `findMany` for those of an account's threads, `find` for one that is to be sent.
 */
export function createFileLookup({ pool, links: signer, clock, config }: Deps): {
  findMany: FindFiles;
  find: FindFile;
} {
  const links = createMediaLinks({ links: signer, publicUrl: config.publicUrl });
  return {
    findMany: (accountId, ids) =>
      listMediaLinks(tenant(pool, { accountId }), links, { accountId, ids, now: clock.now() }),
    find: (accountId, id) => mediaForSend(tenant(pool, { accountId }), links, { accountId, id, now: clock.now() }),
  };
}
