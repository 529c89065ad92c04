import { findRule } from '../../../messaging/keywords/match.ts';
import { listRulesOf } from '../../../messaging/keywords/sql.ts';
import type { Arrival } from '../../../messaging/inbound/receive.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { ChangedConversation } from '../sql.ts';
import { assignInTurn } from './assign.ts';
import { mayBeAnswered } from './automatic.ts';
import { findClosedPeriod } from './hours.ts';
import * as db from './sql.ts';

type Placed = Arrival & { readonly chatId: string };
type Arrived = {
  readonly messages: readonly Placed[];
  readonly changed: readonly ChangedConversation[];
  readonly now: Date;
};

/**
 * Applies the rules of accounts to conversations in which people have written: assigns unassigned ones, and queues the
 * automatic answers of closed accounts. Runs in the transaction that stores the messages, which has claimed the
 * inboxes.
 */
export async function applyRules(tx: Db, { messages, changed, now }: Arrived): Promise<void> {
  const accountIds = [...new Set(changed.map(({ accountId }) => accountId))];
  for (const settings of await db.listSettings(tx, { accountIds })) {
    const { accountId } = settings;
    const conversations = changed.filter((one) => one.accountId === accountId);
    if (settings.assignment === 'ROUND_ROBIN') await assignInTurn(tx, { accountId, conversations });
    const own = messages.filter((one) => one.accountId === accountId);
    await queueAutoAnswers(tx, settings, { messages: own, now });
  }
}

async function queueAutoAnswers(
  tx: Db,
  settings: db.SettingsRow,
  { messages, now }: Pick<Arrived, 'messages' | 'now'>,
): Promise<void> {
  const { accountId, closedAnswer } = settings;
  const period = findClosedPeriod(settings, now);
  if (closedAnswer === null || period === null) return;
  const rules = await listRulesOf(tx, { accountIds: [accountId] });
  const isAnsweredByKeyword = ({ destination: number, text }: Placed): boolean =>
    (findRule(rules, { number, text })?.answer ?? null) !== null;
  const asking = messages.filter((one) => mayBeAnswered(one, closedAnswer) && !isAnsweredByKeyword(one));
  const rows = [...new Set(asking.map(({ chatId }) => chatId))].map((chatId) => ({ accountId, chatId, period }));
  if (rows.length === 0) return;
  const first = await db.moveToAnswered(tx, rows);
  const answers = rows
    .filter(({ chatId }) => first.has(chatId))
    .map((row) => ({ accountId, chatId: row.chatId, text: closedAnswer }));
  if (answers.length > 0) await db.insertAutoAnswers(tx, answers);
}
