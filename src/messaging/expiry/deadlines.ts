import { deadlineOf } from '../messages/validity.ts';
import type { NewDeadline } from './sql.ts';

type Accepted = {
  readonly accountId: number;
  readonly id: string;
  readonly validUntil: Date | null;
  readonly scheduledAt: Date | null;
  readonly simulation: boolean;
};

const MOST_IDS = 1000;

/** The deadlines of messages that are being stored, to the second, so that those of one request share rows. */
export function deadlinesOf(messages: readonly Accepted[]): NewDeadline[] {
  const rows = new Map<string, { accountId: number; dueAt: Date; ids: string[] }>();
  const full: NewDeadline[] = [];
  for (const message of messages) {
    const deadline = message.simulation ? null : deadlineOf(message);
    if (deadline === null) continue;
    const seconds = Math.ceil(deadline.getTime() / 1000);
    const key = `${message.accountId}/${seconds}`;
    const row = rows.get(key) ?? { accountId: message.accountId, dueAt: new Date(seconds * 1000), ids: [] };
    row.ids.push(message.id);
    rows.set(key, row);
    if (row.ids.length < MOST_IDS) continue;
    full.push(row);
    rows.delete(key);
  }
  return [...full, ...rows.values()];
}
