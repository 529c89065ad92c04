import type { Static } from 'typebox';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type Refusal, REFUSALS, type Verdict } from './draft.ts';
import type { BulkIn, BulkOut, MessageServerIn, MessageServerOut, SendIn, SendOut } from './schema.ts';

/** Refusals that are mistakes in the form of the request, answered 400 on a single send, and the field in each body. */
const MALFORMED: Partial<Record<Refusal, { readonly send: string; readonly messageServer: string }>> = {
  bad_sender: { send: 'senderName', messageServer: 'sender' },
  empty_body: { send: 'message', messageServer: 'body' },
  bad_body: { send: 'message', messageServer: 'body' },
  body_too_long: { send: 'message', messageServer: 'body' },
  binary_too_long: { send: 'message', messageServer: 'udhData' },
};

/** A verdict that does not fail the whole request. */
type Decided = Exclude<Verdict, { kind: 'conflict' }>;

/** Errors of the whole request: 400 for malformed content, 409 for a client id that was used for another message. */
function assertNoError(verdict: Verdict, form: 'send' | 'messageServer'): Decided {
  if (verdict.kind === 'conflict') throw idConflict();
  const field = verdict.kind === 'refused' ? MALFORMED[verdict.refusal]?.[form] : undefined;
  if (verdict.kind === 'refused' && field) throw invalidFields([{ field, message: REFUSALS[verdict.refusal] }]);
  return verdict;
}

const reasonsOf = (verdict: Decided): string[] => (verdict.kind === 'refused' ? [REFUSALS[verdict.refusal]] : []);

const idConflict = (): AppError =>
  new AppError('conflict', { message: 'This message id was used for other content within 24 hours' });

/** The answer to a send in the specification's form. Errors: 400 and 409 for the whole request. */
export function answerSend(body: SendIn, verdict: Verdict): Static<typeof SendOut> {
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
        reasons: reasonsOf(end),
      },
    ],
  };
}

/** The answer to a send in the message server's own form. Errors: 400 and 409 for the whole request. */
export function answerMessageServer(body: MessageServerIn, verdict: Verdict): Static<typeof MessageServerOut> {
  const end = assertNoError(verdict, 'messageServer');
  const accepted = end.kind === 'accepted';
  return {
    messageId: accepted ? end.messageId : null,
    simulation: body.simulation ?? false,
    results: {
      sms: {
        accepted,
        unicode: accepted && end.unicode,
        parts: accepted ? end.parts : 0,
        reasons: reasonsOf(end),
      },
    },
  };
}

/**
 * The status code of one result (contract 7): 200; 400 bad destination or body; 402 no credit; 403 opted out; 409 for a
 * client id that was used for another message.
 */
function statusCodeOf(verdict: Verdict): number {
  if (verdict.kind === 'accepted') return 200;
  if (verdict.kind === 'conflict') return 409;
  return REFUSED_CODES[verdict.refusal] ?? 400;
}

const REFUSED_CODES: Partial<Record<Refusal, number>> = { no_credit: 402, opted_out: 403 };

/** The result of one destination: our id (null when it was refused) and the status code. */
export type StoredResult = readonly [messageId: string | null, statusCode: number];

/** The result of one destination of a bulk send. */
export const toResult = (verdict: Verdict): StoredResult => [
  verdict.kind === 'accepted' ? verdict.messageId : null,
  statusCodeOf(verdict),
];

/** The answer to a bulk send, from the results in the order of its destinations. */
export function answerBulk(bulk: BulkIn, stored: readonly StoredResult[]): Static<typeof BulkOut> {
  const destinations = bulk.messages.flatMap((message) => message.destinations);
  const results = stored.map(([id, statusCode], i) => ({
    destination: destinations[i] ?? '',
    id,
    accepted: id !== null,
    statusCode,
  }));
  return {
    globalId: bulk.globalId ?? null,
    accepted: results.filter((result) => result.accepted).length,
    results,
  };
}

/**
 * The answer to a send on RCS or WhatsApp. Errors of the whole request: 400 for content that cannot be stored, 409 for
 * a client id that was used for another message.
 */
export function answerRich({ simulation = false }: { simulation?: boolean }, verdict: Verdict) {
  if (verdict.kind === 'conflict') throw idConflict();
  if (verdict.kind === 'refused' && verdict.refusal === 'bad_body')
    throw invalidFields([{ field: 'body', message: REFUSALS.bad_body }]);
  return {
    messageId: verdict.kind === 'accepted' ? verdict.messageId : null,
    simulation,
    result: { accepted: verdict.kind === 'accepted', reasons: reasonsOf(verdict) },
  };
}
