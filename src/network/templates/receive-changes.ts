import type { ChangeDeps, TemplateKey } from './network.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { moveTemplateStatuses } from './sql.ts';

/** A status that a network's callback reports for a template. */
export type TemplateStatusChange = { readonly id: string; readonly status: string; readonly reason: string | null };

/**
 * Stores the statuses that a network's callback reports; of several for one template, the last one. Campaigns that may no
 * longer send their template are paused.
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
    await onTemplatesChange(tx, ids.map(whatsappKey));
  });
}

/** Returns the key of a template that a network reports: always WhatsApp, because RCS has no templates of its own. */
export const whatsappKey = (id: string): TemplateKey => ({ channel: 'WHATSAPP', id });
