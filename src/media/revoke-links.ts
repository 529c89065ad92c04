import { recordAudit } from '../identity/audit/record.ts';
import type { Db } from '../platform/db/query.ts';
import { AppError } from '../platform/errors.ts';
import type { Actor } from '../platform/http/actor.ts';
import { type MediaRow, moveLinkVersion } from './sql.ts';

/** Ends all links to a file that were given out; audited. 404 for an unknown id and a foreign one. */
export async function revokeLinks(tx: Db, actor: Actor, { id }: { id: number }): Promise<MediaRow> {
  const media = await moveLinkVersion(tx, { accountId: actor.accountId, id });
  if (!media) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'media.revoke-links', subject: `media:${id}` });
  return media;
}
