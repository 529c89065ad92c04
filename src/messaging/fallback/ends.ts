import { type StateMove } from '../messages/sql.ts';
import { STATUS } from '../states.ts';
import { REVOKED, TIMED_OUT } from '../messages/fallback/rule.ts';

/** The way to networks that can take a message back. */
export type Revoke = {
  /** Whether this process has a link to that carrier. */
  reaches(connectionId: number): boolean;
  /**
   * Asks it to take a message back. True: it will not be shown. False: it may have been, or is not known there. Null: it
   * said nothing, though it may have been asked.
   */
  ask(message: RevocableMessage): Promise<boolean | null>;
};

export type RevocableMessage = {
  readonly accountId: number;
  readonly messageId: string;
  readonly sender: string;
  readonly destination: string;
  readonly connectionId: number;
};

type Key = { readonly accountId: number; readonly id: string };

/** The end of a message that its network took back. */
export const toRevoked = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: REVOKED,
  errorText: 'taken back from the network, since it was not delivered in time: another channel is tried',
});

/** The end of a message that was taken back from the queue. */
export const toTimedOut = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: TIMED_OUT,
  errorText: 'the time for this channel was over before it was sent',
});
