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
import { readMessageId } from './message-id.ts';
import type { Client } from './sign-in.ts';
import { errorOfState, writtenState } from './statuses.ts';

type Named = AnyPduOf<'query_sm' | 'cancel_sm' | 'replace_sm'>;

type Deps = { readonly pool: Pool; readonly clock: Clock };

/** Creates the answers to requests about messages that were submitted before, by whatever way, by the same account. */
export function createStoredRequests({ pool, clock }: Deps) {
  /** Finds the message that a request names with its id and its source address, which must be that of the submit. */
  async function find({ accountId }: Client, { messageId, source }: Named) {
    const id = readMessageId(messageId);
    if (id === null) return undefined;
    const [record] = await findRecords(tenant(pool, { accountId }), { accountId }, { ids: [id], clientIds: [] });
    return record?.channel === 'SMS' && (source === '' || record.sender === source) ? record : undefined;
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
    // Without an id it means all messages to a number: that is not offered.
    if (request.messageId === '') return refused(request, SMPP.ESME_RCANCELFAIL);
    const record = await find(client, request);
    if (!record) return refused(request, SMPP.ESME_RINVMSGID);
    const author = { ...systemAuthor(client.accountId), username: client.systemId };
    const cancelled = await cancelMessage(pool, author, { id: record.id, now: clock.now() });
    return refused(request, cancelled ? SMPP.ESME_ROK : SMPP.ESME_RCANCELFAIL);
  }

  /** A message may be on its way to the carrier as soon as it is accepted, so none is replaced. */
  async function replace(client: Client, request: PduOf<'replace_sm'>): Promise<Pdu> {
    const record = await find(client, request);
    return refused(request, record ? SMPP.ESME_RREPLACEFAIL : SMPP.ESME_RINVMSGID);
  }

  return { query, cancel, replace };
}

/** A response without a body: of a refusal, or of a success that needs none. */
const refused = ({ command, sequence }: Named, status: number): Pdu =>
  withoutBody({ command: `${command}_resp`, status, sequence });
