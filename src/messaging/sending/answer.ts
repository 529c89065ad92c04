import type { Static } from 'typebox';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type Refusal, REFUSALS, type Verdict } from './draft.ts';
import type { BulkIn, BulkOut, MessageServerIn, MessageServerOut, SendIn, SendOut } from './schema.ts';

/** Refusals that are mistakes of the request's form: 400 on a single send, with the field of each body. */
const MALFORMED: Partial<Record<Refusal, { readonly send: string; readonly messageServer: string }>> = {
  bad_sender: { send: 'senderName', messageServer: 'sender' },
  empty_body: { send: 'message', messageServer: 'body' },
  bad_body: { send: 'message', messageServer: 'body' },
  body_too_long: { send: 'message', messageServer: 'body' },
  binary_too_long: { send: 'message', messageServer: 'udhData' },
};

type Decided = Exclude<Verdict, { kind: 'conflict' }>;

/** Throws what is an error of the whole request: 400 for a malformed content, 409 for a client id used otherwise. */
function decided(verdict: Verdict, form: 'send' | 'messageServer'): Decided {
  if (verdict.kind === 'conflict')
    throw new AppError('conflict', { message: 'This message id was used for another content within 24 hours' });
  const field = verdict.kind === 'refused' ? MALFORMED[verdict.refusal]?.[form] : undefined;
  if (verdict.kind === 'refused' && field) throw invalidFields([{ field, message: REFUSALS[verdict.refusal] }]);
  return verdict;
}

const reasonsOf = (verdict: Decided): string[] => (verdict.kind === 'refused' ? [REFUSALS[verdict.refusal]] : []);

export function answerSend(body: SendIn, verdict: Verdict): Static<typeof SendOut> {
  const end = decided(verdict, 'send');
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

export function answerMessageServer(body: MessageServerIn, verdict: Verdict): Static<typeof MessageServerOut> {
  const end = decided(verdict, 'messageServer');
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

/** Contract 7: 200, 400 bad destination or body, 402 no credit, 403 opted out, 409 for a client id used otherwise. */
function statusCodeOf(verdict: Verdict): number {
  if (verdict.kind === 'accepted') return 200;
  if (verdict.kind === 'conflict') return 409;
  return REFUSED_CODES[verdict.refusal] ?? 400;
}

const REFUSED_CODES: Partial<Record<Refusal, number>> = { no_credit: 402, opted_out: 403 };

/** What one destination was answered: our id (null when it was refused) and the status code. */
export type StoredResult = readonly [messageId: string | null, statusCode: number];

/** What one destination of a bulk send is answered. */
export const toResult = (verdict: Verdict): StoredResult => [
  verdict.kind === 'accepted' ? verdict.messageId : null,
  statusCodeOf(verdict),
];

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
