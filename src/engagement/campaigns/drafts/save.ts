import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import type { DraftIn } from './schema.ts';
import {
  claimCampaignForShare,
  countDrafts,
  type DraftRow,
  findDraft,
  insertDraft,
  isDraftWritten,
  updateDraft,
} from './sql.ts';

/** Abandoned drafts would otherwise accumulate unnoticed. */
export const MAX_DRAFTS = 500;
/** Size of all drafts of an account, as the database stores them: compressed. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Stores the content of an editor, complete or not, in the caller's transaction; it has no effect. A draft is changed
 * only from the version that the editor has seen, so that two windows never overwrite each other; a repeated request
 * gets the same response as the first. Errors: 404 for an unknown draft or campaign; 409 when another user has changed
 * the draft, or the campaign has another draft; 400 beyond 500 drafts or 32 MiB of them.
 */
export async function saveDraft(tx: Db, actor: Actor, input: DraftIn & { readonly id: string }): Promise<DraftRow> {
  const { accountId } = actor;
  const { id, version, campaignId = null, name, content } = input;
  const userId = actor.keyId === null ? actor.userId : null;
  const written = { accountId, id, name, content, userId };
  const count =
    version === 0 ? await insertNew(tx, { ...written, campaignId }) : await updateDraft(tx, { ...written, version });
  if (count === 0 && !(await isDraftWritten(tx, { ...written, version: version + 1 })))
    throw await refusalOf(tx, input, accountId);
  const draft = await findDraft(tx, { accountId, id });
  if (!draft) throw new AppError('not_found');
  await refuseTooMany(tx, accountId);
  return draft;
}

async function refuseTooMany(tx: Db, accountId: number): Promise<void> {
  const { total, bytes } = await countDrafts(tx, { accountId });
  if (total > MAX_DRAFTS)
    throw invalidFields([{ field: 'version', message: `there are already ${MAX_DRAFTS} drafts: delete some first` }]);
  if (bytes > MAX_BYTES)
    throw invalidFields([{ field: 'content', message: 'is too large with the other drafts: delete some first' }]);
}

async function insertNew(tx: Db, draft: Parameters<typeof insertDraft>[1]): Promise<number> {
  const { accountId, campaignId } = draft;
  if (campaignId !== null && (await claimCampaignForShare(tx, { accountId, campaignId })) === 0)
    throw new AppError('not_found');
  return insertDraft(tx, draft);
}

async function refusalOf(tx: Db, { id, version }: DraftIn & { id: string }, accountId: number): Promise<AppError> {
  const current = await findDraft(tx, { accountId, id });
  if (!current && version > 0) return new AppError('not_found');
  const message = current
    ? `The draft has been changed in the meantime: it has version ${current.version}`
    : 'The campaign has another draft';
  return new AppError('conflict', { message });
}
