import type { Pool } from 'pg';
import { systemAuthor } from '../accounts/audit.ts';
import { as, columns, type Db, exec, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import type { Clock } from '../core/time.ts';
import type { Accept, Sender } from '../messages/accept.ts';
import { cancelMessage, endWithdrawn } from '../messages/cancellation.ts';
import { withdrawFromQueue } from '../messages/expiry.ts';
import type { Draft, Verdict } from '../messages/read-send.ts';
import { findRecords } from '../messages/status.ts';
import { absoluteTime } from '../smpp/message.ts';
import { type AnyPduOf, EMPTY_MESSAGE, type Message, type Pdu, type PduOf, withoutBody } from '../smpp/pdu.ts';
import { STATUS as SMPP } from '../smpp/status.ts';
import { deleteReceiptRequest } from '../webhooks/smpp-outbox.ts';
import {
  errorOfState,
  isSameSender,
  type ReadOptions,
  readSubmit,
  type Submitter,
  senderOf,
  statusOfVerdict,
  submitterOf,
  writtenState,
} from './read-submit.ts';
import type { Asker, MessageIds } from './message-ids.ts';

type Named = AnyPduOf<'query_sm' | 'cancel_sm' | 'replace_sm'>;

type Deps = Pick<ReadOptions, 'passedTags'> & {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  readonly ids: MessageIds;
};

/** Creates the handler for requests about messages that the same account submitted before, over any protocol. */
export function createStoredRequests({ pool, accept, clock, ids, passedTags }: Deps) {
  /**
   * Finds the message that a request names with its id and its source address, which must be that of the submit, even
   * if the rules of a country have replaced that sender. For a message that was replaced, returns the replacement.
   */
  async function find(asker: Asker, { messageId, source }: Named) {
    const { accountId } = asker.client;
    const knownId = await ids.read(asker, messageId);
    if (knownId === undefined) return undefined;
    const db = tenant(pool, { accountId });
    const id = (await findReplacement(db, { accountId, id: knownId })) ?? knownId;
    const [record] = await findRecords(db, { accountId }, { ids: [id], clientIds: [] });
    if (record?.channel !== 'SMS') return undefined;
    const isNamed = source === '' || isSameSender(source, record.askedSender ?? record.sender);
    return isNamed ? { record, knownId } : undefined;
  }

  async function query(asker: Asker, request: PduOf<'query_sm'>): Promise<Pdu> {
    const found = await find(asker, request);
    if (!found) return refused(request, SMPP.ESME_RINVMSGID);
    const { record } = found;
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

  async function cancel(asker: Asker, request: PduOf<'cancel_sm'>): Promise<Pdu> {
    // Without an id it means all messages to a number, which is not offered.
    if (request.messageId === '') return refused(request, SMPP.ESME_RCANCELFAIL);
    const found = await find(asker, request);
    if (!found) return refused(request, SMPP.ESME_RINVMSGID);
    const { accountId, systemId } = asker.client;
    const author = { ...systemAuthor(accountId), username: systemId };
    const cancelled = await cancelMessage(pool, author, { id: found.record.id, now: clock.now() });
    return refused(request, cancelled ? SMPP.ESME_ROK : SMPP.ESME_RCANCELFAIL);
  }

  async function replace(asker: Asker, request: PduOf<'replace_sm'>): Promise<Pdu> {
    const found = await find(asker, request);
    if (!found) return refused(request, SMPP.ESME_RINVMSGID);
    const { client } = asker;
    const { record, knownId } = found;
    const options = { now: clock.now(), passedTags };
    const shown = ids.named(request.messageId);
    const who = { sender: senderOf(client), submitter: submitterOf(client, shown), systemId: client.systemId };
    const input = { request, ...who, options, knownId, currentId: record.id };
    return refused(request, await replaceMessage({ pool, accept }, input));
  }

  return { query, cancel, replace };
}

/** Makes a response without a body: of a rejection, or of a success that needs none. */
const refused = ({ command, sequence }: Named, status: number): Pdu =>
  withoutBody({ command: `${command}_resp`, status, sequence });

type ReplaceDeps = { readonly pool: Pool; readonly accept: Accept };

type ReplaceInput = {
  readonly request: PduOf<'replace_sm'>;
  readonly sender: Sender;
  readonly submitter: Submitter;
  readonly systemId: string;
  readonly options: ReadOptions;
  /** The id that the customer knows, and that of the current replacement. */
  readonly knownId: string;
  readonly currentId: string;
};

const INTERNATIONAL = 1;

/**
 * Replaces a message that no carrier has seen. In one transaction the message ends as cancelled, with its credit
 * returned and without a receipt, and the new one is stored and paid for; receipts, query_sm, cancel_sm and the next
 * replace_sm name it by the id that the customer knows. If the new one is rejected, nothing has changed. Fields that
 * replace_sm leaves empty are unchanged. Parts and octets are not replaced. Returns the command_status.
 */
async function replaceMessage({ pool, accept }: ReplaceDeps, input: ReplaceInput): Promise<number> {
  const { sender, options, currentId } = input;
  const { accountId } = sender;
  const row = await findReplaceable(tenant(pool, { accountId }), { accountId, id: currentId });
  if (!row || row.hasOctets) return SMPP.ESME_RREPLACEFAIL;
  const read = readSubmit(messageOf(input.request, row), input.submitter, options);
  if ('status' in read) return read.status;
  return acceptInPlace(accept, draftOf(read.draft, input, row), input);
}

async function acceptInPlace(
  accept: Accept,
  draft: Draft,
  { sender, systemId, options, knownId, currentId }: ReplaceInput,
): Promise<number> {
  const { accountId } = sender;
  const key = { accountId, id: currentId };
  let refused: Verdict | null = null;
  async function claim(tx: Db): Promise<boolean> {
    if (!(await withdrawFromQueue(tx, [key])).has(currentId)) return false;
    await deleteReceiptRequest(tx, { accountId, messageId: currentId });
    await endWithdrawn(tx, [key], { by: `replace_sm of ${systemId}`, now: options.now });
    return true;
  }
  async function record(tx: Db, [verdict]: readonly Verdict[]): Promise<void> {
    if (verdict?.kind === 'accepted')
      return void (await insertReplacement(tx, { accountId, id: knownId, replacedBy: verdict.messageId }));
    refused = verdict ?? null;
    // Keeps the message that was to be replaced.
    throw new Error('the replacement was refused');
  }
  try {
    const verdicts = await accept.once(sender, [draft], { claim, record });
    return verdicts === null ? SMPP.ESME_RREPLACEFAIL : SMPP.ESME_ROK;
  } catch (error) {
    if (refused === null) throw error;
    return statusOfVerdict(refused);
  }
}

const messageOf = (
  { shortMessage, tlvs, scheduleTime, validity, registeredDelivery, defaultMessageId }: PduOf<'replace_sm'>,
  row: Replaceable,
): Message => ({
  ...EMPTY_MESSAGE,
  source: row.sender,
  destTon: INTERNATIONAL,
  destination: row.destination.replace('+', ''),
  dataCoding: row.dataCoding ?? 0,
  shortMessage,
  tlvs,
  scheduleTime,
  validity,
  registeredDelivery,
  defaultMessageId,
});

/** Makes the draft, with the fields that the request leaves unchanged. */
function draftOf(draft: Draft, { request }: ReplaceInput, row: Replaceable): Draft {
  const { scheduleTime, validity } = request;
  return {
    ...draft,
    clientId: null,
    scheduledAt: scheduleTime === '' ? row.scheduledAt : draft.scheduledAt,
    validUntil: validity === '' ? row.validUntil : draft.validUntil,
    smpp: draft.smpp ? receiptsOf(draft.smpp, row) : null,
  };
}

/** Returns the receipt requests, with the addresses of the first submit as far as these are known. */
const receiptsOf = (asked: NonNullable<Draft['smpp']>, row: Replaceable): NonNullable<Draft['smpp']> => ({
  ...asked,
  reference: asked.reference ?? row.reference,
  sourceTon: row.sourceTon ?? asked.sourceTon,
  sourceNpi: row.sourceNpi ?? asked.sourceNpi,
  source: row.source ?? asked.source,
  destTon: row.destTon ?? asked.destTon,
  destNpi: row.destNpi ?? asked.destNpi,
  destination: row.submittedTo ?? asked.destination,
});

type Key = { readonly accountId: number; readonly id: string };

/** Finds the replacement of a message; undefined when it was not replaced. */
async function findReplacement(db: Db, { accountId, id }: Key): Promise<string | undefined> {
  const row = await maybeOne<{ replacedBy: string }>(
    db,
    sql`SELECT replaced_by AS "replacedBy" FROM smpp_replacement WHERE account_id = ${accountId} AND message_id = ${id}`,
  );
  return row?.replacedBy;
}

/** Records the replacement of a message, or of its previous replacements. */
const insertReplacement = (
  db: Db,
  { accountId, id, replacedBy }: Key & { readonly replacedBy: string },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO smpp_replacement (account_id, message_id, replaced_by) VALUES (${accountId}, ${id}, ${replacedBy})
        ON CONFLICT (account_id, message_id) DO UPDATE SET replaced_by = EXCLUDED.replaced_by`,
  );

const REPLACEABLE = columns({
  /** The requested sender: a rule may have replaced it, and does so again. */
  sender: as<string>('coalesce(m.asked_sender, m.sender)'),
  destination: as<string>('m.destination'),
  /** The coding of its text in the submit; null: it was not submitted over SMPP. */
  dataCoding: as<number | null>('m.data_coding'),
  /** True if it is a part, or not a text. */
  hasOctets: as<boolean>('(m.udh IS NOT NULL OR m.binary_body IS NOT NULL)'),
  validUntil: as<Date | null>('m.valid_until'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  reference: as<number | null>('r.reference'),
  sourceTon: as<number | null>('r.source_ton'),
  sourceNpi: as<number | null>('r.source_npi'),
  source: as<string | null>('r.source'),
  destTon: as<number | null>('r.dest_ton'),
  destNpi: as<number | null>('r.dest_npi'),
  submittedTo: as<string | null>('r.destination'),
});
/** Fields that a replacement inherits from a message: the rest null if it requested no receipts. */
type Replaceable = RowOf<typeof REPLACEABLE>;

const findReplaceable = (db: Db, { accountId, id }: Key): Promise<Replaceable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${REPLACEABLE} FROM message m
        LEFT JOIN smpp_receipt r ON r.account_id = m.account_id AND r.message_id = m.id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );
