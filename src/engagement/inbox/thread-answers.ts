import type { OnAnswer } from '../../messaging/keywords/carry-out.ts';
import { insertReply } from './reply.ts';
import { claimInboxes } from './sql.ts';

/**
 * Adds answers to keywords to the threads of the people who get them, as replies, in the transaction that makes them:
 * an agent sees the answer that a person received.
 */
export const threadAnswers: OnAnswer = {
  claim: (tx, { accountId }) => claimInboxes(tx, { accountIds: [accountId] }),
  record(tx, { accountId, messageId: id, draft }) {
    const { channel, destination: peer, sender: identity } = draft;
    const composed = { draft, messageType: 'TEXT', media: null, file: null } as const;
    return insertReply(tx, { accountId, id, ends: { channel, peer, identity }, composed, at: new Date() });
  },
};
