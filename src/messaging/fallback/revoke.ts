import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { insertUnknowns } from '../messages/unknown/sql.ts';
import { endMessages } from '../messages/end.ts';
import { insertEvents, type NewEvent } from '../messages/events/sql.ts';
import { type RevocableMessage, type Revoke, toRevoked } from './ends.ts';
import { listRevokeRequests } from '../messages/fallback/sql.ts';

/**
 * What came of asking: `revoked`, and it has ended by that; `stays`: it may be with somebody; `later`: there is no link
 * to its network here, or that said nothing.
 */
export type RevokeResult = 'revoked' | 'stays' | 'later';

type Deps = { readonly pool: Pool; readonly revoke: Revoke; readonly now: () => Date };

/** An earlier request is noted, and no answer to it. */
const DOUBT =
  'nobody knows whether it was taken back: its network was asked before, the answer was not recorded, and now it says ' +
  'no, as it also does for what it has delivered';

/**
 * Asks networks to take messages back, outside of any transaction, and records their word. Only that word ends a message
 * (DELETED, code REVOKED), which is what lets another one follow.
 *
 * That it is asked is committed before. So when a process dies between the network's yes and our commit, a no to the next
 * request is not taken for a delivered message: it may be our own success. It is not taken for that success either, since
 * the message may have been delivered in between, and then another one would be a second copy. Such a message goes on the
 * list of unknown outcomes, until a receipt or a person says more.
 *
 * For a handful of messages at a time. What was answered once is not asked again.
 */
export async function revokeMessages(
  { pool, revoke, now }: Deps,
  messages: readonly RevocableMessage[],
): Promise<Map<string, RevokeResult>> {
  const near = messages.filter(({ connectionId }) => revoke.reaches(connectionId));
  const asked = await noteAsking(pool, near);
  const words = new Map<string, RevokeResult>(messages.map(({ messageId }) => [messageId, 'later']));
  for (const [messageId, answered] of asked) if (answered) words.set(messageId, 'stays');
  const open = near.filter(({ messageId }) => asked.get(messageId) !== true);
  const answers = await Promise.all(open.map((message) => revoke.ask(message)));
  const of = (answer: boolean): RevocableMessage[] => open.filter((_, i) => answers[i] === answer);
  const [revoked, refused] = [of(true), of(false)];
  for (const { messageId } of revoked) words.set(messageId, 'revoked');
  for (const { messageId } of refused) words.set(messageId, 'stays');
  await transaction(pool, async (tx) => {
    const doubted = refused.filter(({ messageId }) => asked.has(messageId));
    await insertEvents(
      tx,
      refused.map((message) => toAnswer(message, doubted.includes(message))),
    );
    if (doubted.length > 0)
      await insertUnknowns(
        tx,
        doubted.map((message) => ({ ...message, reason: DOUBT })),
      );
    await endMessages(
      tx,
      revoked.map(({ accountId, messageId: id }) => toRevoked({ accountId, id }, now())),
    );
  });
  return words;
}

/** Commits that these are asked back. Answers those that were before, and whether that was answered. */
function noteAsking(pool: Pool, messages: readonly RevocableMessage[]): Promise<Map<string, boolean>> {
  return transaction(pool, async (tx) => {
    const rows = await listRevokeRequests(
      tx,
      messages.map(({ accountId, messageId: id }) => ({ accountId, id })),
    );
    const before = new Map(rows.map(({ id, answered }) => [id, answered]));
    await insertEvents(
      tx,
      messages.filter(({ messageId }) => !before.has(messageId)).map((message) => toEvent(message, ASKED)),
    );
    return before;
  });
}

const ASKED = 'its network is asked to take it back, since it was not delivered in time';
const REFUSED = 'its network did not take it back: it has delivered it, or does not know it';

const toEvent = ({ accountId, messageId, connectionId }: RevocableMessage, text: string): NewEvent => ({
  accountId,
  messageId,
  connectionId,
  kind: 'revoke',
  text,
});

const toAnswer = (message: RevocableMessage, doubted: boolean): NewEvent => ({
  ...toEvent(message, doubted ? DOUBT : REFUSED),
  details: { outcome: doubted ? 'UNKNOWN' : 'REFUSED' },
});
