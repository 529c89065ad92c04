import type { Db } from '../db/query.ts';
import { moveTemplateStatuses } from './sql.ts';

export type TemplateStatusChange = { readonly id: string; readonly status: string; readonly reason: string | null };

/** Notes what a network's callback said of templates: of one that it speaks of twice, the last word. */
export async function receiveTemplateChanges(
  db: Db,
  connectionId: number,
  changes: readonly TemplateStatusChange[],
): Promise<void> {
  const last = new Map(changes.map((change) => [change.id, change]));
  if (last.size > 0) await moveTemplateStatuses(db, { connectionId, changes: [...last.values()] });
}
