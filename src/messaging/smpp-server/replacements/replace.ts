import type { Pool } from 'pg';
import { EMPTY_MESSAGE, type Message, type PduOf } from '../../../carriers/smpp/pdu.ts';
import { STATUS } from '../../../carriers/smpp/status.ts';
import type { Db } from '../../../platform/db/query.ts';
import { tenant } from '../../../platform/db/tenant.ts';
import { endWithdrawn } from '../../cancellation/cancel.ts';
import { withdrawFromQueue } from '../../expiry/withdraw.ts';
import type { Accept, Sender } from '../../sending/accept.ts';
import type { Draft, Verdict } from '../../sending/draft.ts';
import { deleteReceiptRequest } from '../../smpp-outbox/sql.ts';
import { type ReadOptions, readSubmit, type Submitter } from '../read-submit.ts';
import { statusOfVerdict } from '../statuses.ts';
import { findReplaceable, insertReplacement, type Replaceable } from './sql.ts';

type Deps = { readonly pool: Pool; readonly accept: Accept };

export type ReplaceInput = {
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
export async function replaceMessage({ pool, accept }: Deps, input: ReplaceInput): Promise<number> {
  const { sender, options, currentId } = input;
  const { accountId } = sender;
  const row = await findReplaceable(tenant(pool, { accountId }), { accountId, id: currentId });
  if (!row || row.hasOctets) return STATUS.ESME_RREPLACEFAIL;
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
    return verdicts === null ? STATUS.ESME_RREPLACEFAIL : STATUS.ESME_ROK;
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
function draftOf(draft: Draft, { request, knownId }: ReplaceInput, row: Replaceable): Draft {
  const { scheduleTime, validity } = request;
  return {
    ...draft,
    clientId: null,
    scheduledAt: scheduleTime === '' ? row.scheduledAt : draft.scheduledAt,
    validUntil: validity === '' ? row.validUntil : draft.validUntil,
    smpp: draft.smpp ? receiptsOf(draft.smpp, knownId, row) : null,
  };
}

/**
 * Returns the receipt requests, with the id that the customer knows, and the addresses of the first submit as far as
 * these are known.
 */
const receiptsOf = (
  asked: NonNullable<Draft['smpp']>,
  knownId: string,
  row: Replaceable,
): NonNullable<Draft['smpp']> => ({
  ...asked,
  shownId: row.shownId ?? knownId,
  reference: asked.reference ?? row.reference,
  sourceTon: row.sourceTon ?? asked.sourceTon,
  sourceNpi: row.sourceNpi ?? asked.sourceNpi,
  source: row.source ?? asked.source,
  destTon: row.destTon ?? asked.destTon,
  destNpi: row.destNpi ?? asked.destNpi,
  destination: row.submittedTo ?? asked.destination,
});
