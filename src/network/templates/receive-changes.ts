import type { ChangeDeps, TemplateKey } from './network.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { moveTemplateStatuses } from './sql.ts';

/** A callback's report about a template; null where it has not changed. */
export type TemplateStatusChange = {
  readonly id: string;
  readonly status: string | null;
  /** Reason for the status. */
  readonly reason: string | null;
  readonly quality: string | null;
};

/**
 * Stores the statuses and qualities that a network's callback reports; of several for one template, the last one.
 * Campaigns that may no longer send their template are paused.
 */
export async function receiveTemplateChanges(
  { pool, onTemplatesChange }: Pick<ChangeDeps, 'pool' | 'onTemplatesChange'>,
  connectionId: number,
  changes: readonly TemplateStatusChange[],
): Promise<void> {
  const last = new Map<string, TemplateStatusChange>();
  for (const change of changes) last.set(change.id, merge(last.get(change.id), change));
  if (last.size === 0) return;
  await transaction(pool, async (tx) => {
    const ids = await moveTemplateStatuses(tx, { connectionId, changes: [...last.values()] });
    await onTemplatesChange(tx, ids.map(whatsappKey));
  });
}

const merge = (before: TemplateStatusChange | undefined, after: TemplateStatusChange): TemplateStatusChange => ({
  id: after.id,
  ...(after.status === null && before ? { status: before.status, reason: before.reason } : after),
  quality: after.quality ?? before?.quality ?? null,
});

/** Returns the key of a template that a network reports: always WhatsApp, because RCS has no network templates. */
export const whatsappKey = (id: string): TemplateKey => ({ channel: 'WHATSAPP', id });
