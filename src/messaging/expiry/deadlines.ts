import { deadlineOf } from '../messages/validity.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import type { NewDeadline } from './sql.ts';

type Accepted = {
  readonly accountId: number;
  readonly id: string;
  readonly validUntil: Date | null;
  readonly scheduledAt: Date | null;
  readonly simulation: boolean;
};

const MAX_IDS_PER_ROW = 1000;

/**
 * Makes the deadlines of new messages. They are rounded up to a second, so that the messages of one request share rows.
 */
export function deadlinesOf(messages: readonly Accepted[]): NewDeadline[] {
  const rows = new Map<string, { accountId: number; dueAt: Date; ids: string[] }>();
  const full: NewDeadline[] = [];
  for (const message of messages) {
    const deadline = message.simulation ? null : deadlineOf(message);
    if (deadline === null) continue;
    const seconds = Math.ceil(deadline.getTime() / SECOND_MS);
    const key = `${message.accountId}/${seconds}`;
    const row = rows.get(key) ?? { accountId: message.accountId, dueAt: new Date(seconds * SECOND_MS), ids: [] };
    row.ids.push(message.id);
    rows.set(key, row);
    if (row.ids.length < MAX_IDS_PER_ROW) continue;
    full.push(row);
    rows.delete(key);
  }
  return [...full, ...rows.values()];
}
