import type { Pool } from 'pg';
import { type AnyPduOf, type Pdu, type PduOf, withoutBody } from '../../carriers/smpp/pdu.ts';
import { STATUS as SMPP } from '../../carriers/smpp/status.ts';
import { absoluteTime } from '../../carriers/smpp/times.ts';
import { systemAuthor } from '../../identity/audit/record.ts';
import { tenant } from '../../platform/db/tenant.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { cancelMessage } from '../cancellation/cancel.ts';
import { isFinal, STATUS } from '../states.ts';
import { findRecords } from '../tracking/status.ts';
import type { Accept } from '../sending/accept.ts';
import { readMessageId } from './message-id.ts';
import { isSameSender, type ReadOptions } from './read-submit.ts';
import { replaceMessage } from './replacements/replace.ts';
import { findReplacement } from './replacements/sql.ts';
import { senderOf, submitterOf } from './sender.ts';
import type { Client } from './sign-in.ts';
import { errorOfState, writtenState } from './statuses.ts';

type Named = AnyPduOf<'query_sm' | 'cancel_sm' | 'replace_sm'>;

type Deps = Pick<ReadOptions, 'maxScheduleDays' | 'passedTags'> & {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
};

/** Creates the handler for requests about messages that the same account submitted before, over any protocol. */
export function createStoredRequests({ pool, accept, clock, maxScheduleDays, passedTags }: Deps) {
  /**
   * Finds the message that a request names with its id and its source address, which must be that of the submit, even
   * if the rules of a country have replaced that sender. For a message that was replaced, returns the replacement.
   */
  async function find({ accountId }: Client, { messageId, source }: Named) {
    const knownId = readMessageId(messageId);
    if (knownId === null) return undefined;
    const db = tenant(pool, { accountId });
    const id = (await findReplacement(db, { accountId, id: knownId })) ?? knownId;
    const [record] = await findRecords(db, { accountId }, { ids: [id], clientIds: [] });
    if (record?.channel !== 'SMS') return undefined;
    const isNamed = source === '' || isSameSender(source, record.askedSender ?? record.sender);
    return isNamed ? record : undefined;
  }

  async function query(client: Client, request: PduOf<'query_sm'>): Promise<Pdu> {
    const record = await find(client, request);
    if (!record) return refused(request, SMPP.ESME_RINVMSGID);
    const status = record.status ?? STATUS.ACCEPTED;
    const doneAt = isFinal(status) ? record.doneAt : null;
    return {
      command: 'query_sm_resp',
      status: 0,
      sequence: request.sequence,
      messageId: request.messageId,
      finalDate: doneAt ? absoluteTime(doneAt) : '',
      messageState: writtenState(status).state,
      errorCode: errorOfState(status),
    };
  }

  async function cancel(client: Client, request: PduOf<'cancel_sm'>): Promise<Pdu> {
    // Without an id it means all messages to a number, which is not offered.
    if (request.messageId === '') return refused(request, SMPP.ESME_RCANCELFAIL);
    const record = await find(client, request);
    if (!record) return refused(request, SMPP.ESME_RINVMSGID);
    const author = { ...systemAuthor(client.accountId), username: client.systemId };
    const cancelled = await cancelMessage(pool, author, { id: record.id, now: clock.now() });
    return refused(request, cancelled ? SMPP.ESME_ROK : SMPP.ESME_RCANCELFAIL);
  }

  async function replace(client: Client, request: PduOf<'replace_sm'>): Promise<Pdu> {
    const record = await find(client, request);
    const knownId = readMessageId(request.messageId);
    if (!record || knownId === null) return refused(request, SMPP.ESME_RINVMSGID);
    const options = { now: clock.now(), maxScheduleDays, passedTags };
    const who = { sender: senderOf(client), submitter: submitterOf(client), systemId: client.systemId };
    const input = { request, ...who, options, knownId, currentId: record.id };
    return refused(request, await replaceMessage({ pool, accept }, input));
  }

  return { query, cancel, replace };
}

/** Makes a response without a body: of a rejection, or of a success that needs none. */
const refused = ({ command, sequence }: Named, status: number): Pdu =>
  withoutBody({ command: `${command}_resp`, status, sequence });
