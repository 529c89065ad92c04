import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { insertUnknowns } from '../messages/unknown/sql.ts';
import { endMessages } from '../messages/end.ts';
import { insertEvents, type NewEvent } from '../messages/events/sql.ts';
import { type RevocableMessage, type Revoke, toRevoked } from './ends.ts';
import { listRevokeRequests } from '../messages/fallback/sql.ts';

/**
 * The result of a request to revoke a message. `revoked`: it has ended. `stays`: the recipient may have it. `later`:
 * this process has no link to the network, or the network did not respond.
 */
export type RevokeResult = 'revoked' | 'stays' | 'later';

type Deps = { readonly pool: Pool; readonly revoke: Revoke; readonly now: () => Date };

/** History text of an earlier request that has no recorded response. */
const DOUBT =
  'it is unknown whether it was revoked: its network was asked before, the response was not recorded, and now the network ' +
  'says no, as it also does for messages that it has delivered';

/**
 * Asks networks to revoke messages, outside of any transaction, and records their responses. Only a yes ends a message
 * (DELETED, code REVOKED) and so lets another one follow.
 *
 * The request is committed before it is made. When a process dies between the network's yes and our commit, the no to
 * the next request does not prove a delivery: the first request may have succeeded. It does not prove that success
 * either, because the message may have been delivered in between, and another message would then be a second copy. Such
 * a message goes on the list of unknown outcomes until a receipt or a person resolves it.
 *
 * For a handful of messages at a time. A message whose request got a response is not asked about again.
 */
export async function revokeMessages(
  { pool, revoke, now }: Deps,
  messages: readonly RevocableMessage[],
): Promise<Map<string, RevokeResult>> {
  const reachable = messages.filter(({ connectionId }) => revoke.reaches(connectionId));
  const asked = await recordRequests(pool, reachable);
  const results = new Map<string, RevokeResult>(messages.map(({ messageId }) => [messageId, 'later']));
  for (const [messageId, answered] of asked) if (answered) results.set(messageId, 'stays');
  const open = reachable.filter(({ messageId }) => asked.get(messageId) !== true);
  const answers = await Promise.all(open.map((message) => revoke.ask(message)));
  const withAnswer = (answer: boolean): RevocableMessage[] => open.filter((_, i) => answers[i] === answer);
  const [revoked, refused] = [withAnswer(true), withAnswer(false)];
  for (const { messageId } of revoked) results.set(messageId, 'revoked');
  for (const { messageId } of refused) results.set(messageId, 'stays');
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
  return results;
}

/** Commits the requests for these messages. Returns the earlier requests, and whether each got a response. */
function recordRequests(pool: Pool, messages: readonly RevocableMessage[]): Promise<Map<string, boolean>> {
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

const ASKED = 'its network is asked to revoke it, because it was not delivered in time';
const REFUSED = 'its network did not revoke it: it has delivered the message, or does not know it';

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
