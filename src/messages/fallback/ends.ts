import { type StateMove } from '../sql.ts';
import { STATUS } from '../states.ts';
import { REVOKED, TIMED_OUT } from './rule.ts';

/**
 * Takes a message back from its network. True: it will not be shown. False: it may be. Null: this process has no link
 * to that carrier.
 */
export type Revoke = (message: RevocableMessage) => Promise<boolean | null>;

export type RevocableMessage = {
  readonly messageId: string;
  readonly sender: string;
  readonly destination: string;
  readonly connectionId: number;
};

type Key = { readonly accountId: number; readonly id: string };

/** The end of a message that its network took back. */
export const toRevoked = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  ...{ accountId, id, status: STATUS.DELETED, doneAt, errorCode: REVOKED },
  errorText: 'taken back from the network, since it was not delivered in time: another channel is tried',
});

/** The end of a message that was taken back from the queue. */
export const toTimedOut = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  ...{ accountId, id, status: STATUS.DELETED, doneAt, errorCode: TIMED_OUT },
  errorText: 'the time for this channel was over before it was sent',
});
