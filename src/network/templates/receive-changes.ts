import type { ChangeDeps, TemplateKey } from './network.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { moveTemplateStatuses } from './sql.ts';

export type TemplateStatusChange = { readonly id: string; readonly status: string; readonly reason: string | null };

/**
 * Notes what a network's callback said of templates: of one that it speaks of twice, the last word. Campaigns that may not
 * send one any more are paused.
 */
export async function receiveTemplateChanges(
  { pool, onTemplatesChange }: Pick<ChangeDeps, 'pool' | 'onTemplatesChange'>,
  connectionId: number,
  changes: readonly TemplateStatusChange[],
): Promise<void> {
  const last = new Map(changes.map((change) => [change.id, change]));
  if (last.size === 0) return;
  await transaction(pool, async (tx) => {
    const ids = await moveTemplateStatuses(tx, { connectionId, changes: [...last.values()] });
    await onTemplatesChange(tx, ids.map(ofWhatsapp));
  });
}

/** What networks tell of is WhatsApp's: RCS has no templates of its own. */
export const ofWhatsapp = (id: string): TemplateKey => ({ channel: 'WHATSAPP', id });
