import type { Static } from 'typebox';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type AmountReader, textFor } from '../../platform/lib/amounts.ts';
import { bulkClientId, type ClientIds, clientIdOf } from './client-id.ts';
import { reasonOf, type Refusal, REFUSALS, type Verdict } from './draft.ts';
import type { BulkIn, BulkOut, MessageServerIn, MessageServerOut, SendIn, SendOut } from './schema.ts';

/** The bodies of single sends, and their fields for the number, the sender and the text. */
const FORMS = {
  send: { number: 'phoneNumber', sender: 'senderName', text: 'message', header: 'message' },
  messageServer: { number: 'destination', sender: 'sender', text: 'body', header: 'udhData' },
  rich: { number: 'destination', sender: 'sender', text: 'body', header: 'body' },
} as const;
type Form = keyof typeof FORMS;

/** Rejections caused by the form of the request, which give a 400 on a single send, with the field concerned. */
const MALFORMED: Partial<Record<Refusal, keyof (typeof FORMS)[Form]>> = {
  not_a_number: 'number',
  no_country_code: 'number',
  bad_sender: 'sender',
  sender_not_allowed: 'sender',
  no_pool: 'sender',
  empty_body: 'text',
  bad_body: 'text',
  body_too_long: 'text',
  binary_too_long: 'header',
  text_too_long_for_header: 'text',
};

/** A verdict that does not fail the whole request. */
type Decided = Exclude<Verdict, { kind: 'conflict' }>;

/** Errors of the whole request: 400 for malformed content, 409 for a client id that was used for another message. */
function assertNoError(verdict: Verdict, form: Form): Decided {
  if (verdict.kind === 'conflict') throw idConflict();
  const about = verdict.kind === 'refused' ? MALFORMED[verdict.refusal] : undefined;
  if (verdict.kind === 'refused' && about)
    throw invalidFields([{ field: FORMS[form][about], message: REFUSALS[verdict.refusal] }]);
  return verdict;
}

const reasonsOf = (reader: AmountReader, verdict: Decided): string[] =>
  verdict.kind === 'refused' ? [textFor(reader, reasonOf(verdict))] : [];

const ID_CONFLICT = 'customerMessageId was used for other content within 24 hours';
const idConflict = (): AppError => new AppError('conflict', { message: ID_CONFLICT });

/** Makes the response to a send in the specification's form. Errors: 400 and 409 for the whole request. */
export function answerSend(reader: AmountReader, body: SendIn, verdict: Verdict): Static<typeof SendOut> {
  const end = assertNoError(verdict, 'send');
  return {
    messageId: end.kind === 'accepted' ? end.messageId : null,
    customerMessageId: body.customerMessageId ?? null,
    simulation: body.simulation ?? false,
    results: [
      {
        phoneNumber: body.phoneNumber,
        accepted: end.kind === 'accepted',
        channel: 'SMS',
        statusCode: statusCodeOf(end),
        reasons: reasonsOf(reader, end),
        ...otherSenderOf(end),
      },
    ],
  };
}

/** Makes the response to a send in the message server's own form. Errors: 400 and 409 for the whole request. */
export function answerMessageServer(
  reader: AmountReader,
  body: MessageServerIn,
  verdict: Verdict,
): Static<typeof MessageServerOut> {
  const end = assertNoError(verdict, 'messageServer');
  const accepted = end.kind === 'accepted';
  return {
    messageId: accepted ? end.messageId : null,
    customerMessageId: clientIdOf(body),
    simulation: body.simulation ?? false,
    results: {
      sms: {
        accepted,
        unicode: accepted && end.unicode,
        parts: accepted ? end.parts : 0,
        reasons: reasonsOf(reader, end),
        ...otherSenderOf(end),
      },
    },
  };
}

/** Returns the sender that replaced the requested one, if there is one. */
const otherSenderOf = (verdict: Verdict): { sender?: string } =>
  verdict.kind === 'accepted' && verdict.sender !== undefined ? { sender: verdict.sender } : {};

/**
 * Returns the status code of one result: 200; 400 bad destination or body; 401 sender not allowed; 402 no credit; 403
 * opted out; 409 for a client id that was used for another message.
 */
function statusCodeOf(verdict: Verdict): number {
  if (verdict.kind === 'accepted') return 200;
  if (verdict.kind === 'conflict') return 409;
  return REFUSED_CODES[verdict.refusal] ?? 400;
}

const REFUSED_CODES: Partial<Record<Refusal, number>> = {
  sender_not_allowed: 401,
  no_pool: 401,
  no_credit: 402,
  opted_out: 403,
};

/**
 * The result of one destination: our id (null when it was rejected), the status code, the reason of a rejection (else
 * null or omitted), and the sender if it differs from the requested one.
 */
export type StoredResult = readonly [
  messageId: string | null,
  statusCode: number,
  reason?: string | null,
  sender?: string,
];

/** Makes the result of one destination of a bulk send. */
export function toResult(verdict: Verdict): StoredResult {
  const statusCode = statusCodeOf(verdict);
  if (verdict.kind === 'accepted')
    return verdict.sender === undefined
      ? [verdict.messageId, statusCode]
      : [verdict.messageId, statusCode, null, verdict.sender];
  return [null, statusCode, verdict.kind === 'conflict' ? ID_CONFLICT : reasonOf(verdict)];
}

/** Makes the response to a bulk send, from the results in the order of its destinations. */
export function answerBulk(
  reader: AmountReader,
  bulk: BulkIn,
  stored: readonly StoredResult[],
): Static<typeof BulkOut> {
  const asked = bulk.messages.flatMap((message) =>
    message.destinations.map((destination, i) => ({ destination, clientId: bulkClientId(message, i) })),
  );
  const results = stored.map(([id, statusCode, reason = null, sender], i) => ({
    destination: asked[i]?.destination ?? '',
    id,
    ...(asked[i]?.clientId && { customerMessageId: asked[i].clientId }),
    accepted: id !== null,
    statusCode,
    ...(reason !== null && { reason: textFor(reader, reason) }),
    ...(sender !== undefined && { sender }),
  }));
  return {
    globalId: bulk.globalId ?? null,
    accepted: results.filter((result) => result.accepted).length,
    results,
  };
}

/** Makes the response to a send on RCS or WhatsApp. Errors: 400 and 409 for the whole request. */
export function answerRich(reader: AmountReader, body: { simulation?: boolean } & ClientIds, verdict: Verdict) {
  const end = assertNoError(verdict, 'rich');
  return {
    messageId: end.kind === 'accepted' ? end.messageId : null,
    customerMessageId: clientIdOf(body),
    simulation: body.simulation ?? false,
    result: { accepted: end.kind === 'accepted', reasons: reasonsOf(reader, end) },
  };
}
