import { type StateMove } from '../messages/sql.ts';
import { STATUS } from '../states.ts';
import { NOT_TRIED, REVOKED } from '../messages/fallback/rule.ts';

/** Access to networks that can revoke a message. */
export type Revoke = {
  /** Returns true if this process has a link to the carrier of a connection. */
  reaches(connectionId: number): boolean;
  /**
   * Asks a network to revoke a message. True: the message will not be shown. False: it may have been shown, or the
   * network does not know it. Null: the network did not respond, although it may have received the request.
   */
  ask(message: RevocableMessage): Promise<boolean | null>;
};

/** A message that its network can be asked to revoke. */
export type RevocableMessage = {
  readonly accountId: number;
  readonly messageId: string;
  readonly sender: string;
  readonly destination: string;
  readonly connectionId: number;
};

type Key = { readonly accountId: number; readonly id: string };

/** The move of a message that its network revoked to its final state. */
export const toRevoked = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: REVOKED,
  errorText: 'revoked because it was not delivered in time: another channel is tried',
});

/** The move of a message that was withdrawn from the queue, because no carrier took it in time, to its final state. */
export const toNotTried = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: NOT_TRIED,
  errorText: 'not tried on this channel: no carrier took it within fallback.maxWait',
});
