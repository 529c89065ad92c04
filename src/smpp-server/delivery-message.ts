import type { CredentialSettings } from '../accounts/smpp-credentials.ts';
import { receiptText } from '../channels/smpp/receipts.ts';
import { timeOfId } from '../core/ids.ts';
import { isFinal } from '../core/message-state.ts';
import { EMPTY_MESSAGE, type Message } from '../smpp/pdu.ts';
import { countParts, encodeText, udhConcat } from '../smpp/text.ts';
import { NO_TLVS, receiptTlvs, TAG, uint16 } from '../smpp/wire.ts';
import type { DeliveryRow } from '../webhooks/smpp-outbox.ts';
import { errorOfState, writtenState } from './read-submit.ts';

/** Properties of a client on which the form of deliveries depends. */
export type Recipient = Pick<CredentialSettings, 'alphabet'> & {
  /** Below 0x34 the client knows no optional parameters. */
  readonly version: number;
};

const VERSION_3_4 = 0x34;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;
const UDHI = 0x40;
const MAX_SHORT_MESSAGE = 254;
/** Maximum characters in an address field. */
const MAX_ADDRESS = 20;
const MAX_PARTS = 255;

/** Writes a delivery as its deliver_sm: one, or several for a long text to a client of SMPP 3.3. */
export const toMessages = (row: DeliveryRow, to: Recipient): Message[] =>
  row.status === null ? inboundMessages(row, to) : [receiptMessage(row, row.status, to)];

/** Writes a receipt, with the addresses of the submit swapped (SMPP 3.4, appendix B). */
function receiptMessage(row: DeliveryRow, status: number, { version }: Recipient): Message {
  const { stat, state } = writtenState(status);
  const error = errorOfState(status);
  const id = row.shownId;
  const text = receiptText({
    id,
    submittedAt: timeOfId(row.messageId),
    doneAt: row.at,
    stat,
    err: String(error).padStart(3, '0'),
    text: row.text.replace(/[^\x20-\x7e]/g, '.'),
  });
  const { reference } = row;
  const tlvs = new Map([
    ...receiptTlvs({ id, state, error }),
    ...(reference === null ? [] : [[TAG.user_message_reference, uint16(reference)] as const]),
  ]);
  return {
    ...EMPTY_MESSAGE,
    sourceTon: row.destTon,
    sourceNpi: row.destNpi,
    source: row.destination,
    destTon: row.sourceTon,
    destNpi: row.sourceNpi,
    destination: row.source,
    esmClass: isFinal(status) ? RECEIPT : INTERMEDIATE,
    shortMessage: Buffer.from(text, 'latin1'),
    tlvs: version < VERSION_3_4 ? NO_TLVS : tlvs,
  };
}

function inboundMessages(row: DeliveryRow, to: Recipient): Message[] {
  const base: Message = {
    ...EMPTY_MESSAGE,
    sourceTon: /^\d{7,}$/.test(row.source) ? 1 : /^\d+$/.test(row.source) ? 0 : 5,
    sourceNpi: /^\d+$/.test(row.source) ? 1 : 0,
    source: storableAddress(row.source),
    destTon: /^\d{7,}$/.test(row.destination) ? 1 : 0,
    destNpi: 1,
    destination: storableAddress(row.destination),
  };
  const options = { defaultAlphabet: to.alphabet };
  const { dataCoding, parts } = encodeText(row.text, { ...options, longMode: 'payload' });
  const whole = parts[0] ?? new Uint8Array(0);
  if (countParts(row.text, options).parts === 1) return [{ ...base, dataCoding, shortMessage: whole }];
  if (to.version >= VERSION_3_4) {
    const isShort = whole.length <= MAX_SHORT_MESSAGE;
    if (isShort) return [{ ...base, dataCoding, shortMessage: whole }];
    return [{ ...base, dataCoding, tlvs: new Map([[TAG.message_payload as number, whole]]) }];
  }
  return segmentsOf(row, base, options);
}

/** Splits a long text into parts for a client of SMPP 3.3. */
function segmentsOf(row: DeliveryRow, base: Message, options: { defaultAlphabet: Recipient['alphabet'] }): Message[] {
  const { dataCoding, parts } = encodeText(row.text, options);
  const all = parts.slice(0, MAX_PARTS);
  return all.map((octets, index) => ({
    ...base,
    esmClass: UDHI,
    dataCoding,
    shortMessage: Buffer.concat([udhConcat(row.id & 0xff, all.length, index + 1, 8), octets]),
  }));
}

/** Carriers may write anything into an address; the field holds 20 characters of Latin-1. */
const storableAddress = (address: string): string => address.replace(/[^\x20-\xff]/g, '?').slice(0, MAX_ADDRESS);
