import type { Pool } from 'pg';
import type { Static } from 'typebox';
import { every, type Task } from '../core/background.ts';
import { as, columns, type Db, exec, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { insertAnswers, type Key, listTakenKeys, type SealedAnswer } from '../core/idempotency.ts';
import { type AmountReader, textFor } from '../core/money.ts';
import { HOUR_MS } from '../core/time.ts';
import type { Hold } from './calendar.ts';
import {
  bulkClientId,
  type ClientIds,
  clientIdOf,
  REFUSALS,
  type Refusal,
  reasonOf,
  type Verdict,
} from './read-send.ts';
import type { BulkIn, BulkOut, HoldOut, MessageServerIn, MessageServerOut, SendIn, SendOut } from './send-schema.ts';

/** The bodies of single sends, and their fields for the number, the sender and the text. */
const FORMS = {
  send: { number: 'phoneNumber', sender: 'senderName', text: 'message', header: 'message', tlvs: 'tlvs' },
  messageServer: { number: 'destination', sender: 'sender', text: 'body', header: 'udhData', tlvs: 'tlvs' },
  rich: { number: 'destination', sender: 'sender', text: 'body', header: 'body', tlvs: 'tlvs' },
} as const;
type Form = keyof typeof FORMS;

/** Rejections caused by the form of the request, which give a 400 on a single send, with the field concerned. */
const MALFORMED: Partial<Record<Refusal, keyof (typeof FORMS)[Form]>> = {
  not_a_number: 'number',
  no_country_code: 'number',
  bad_sender: 'sender',
  no_pool: 'sender',
  empty_body: 'text',
  bad_body: 'text',
  body_too_long: 'text',
  body_not_gsm: 'text',
  no_public_url: 'text',
  binary_too_long: 'header',
  text_too_long_for_header: 'text',
  tlv_not_allowed: 'tlvs',
  no_dlt_template: 'text',
};

/** A verdict that does not fail the whole request. */
type Decided = Exclude<Verdict, { kind: 'conflict' }>;

/** Errors of the whole request: 400 for malformed content, 409 for a client id that was used for another message. */
function assertNoError(verdict: Verdict, form: Form): Decided {
  if (verdict.kind === 'conflict') throw idConflict();
  const about = verdict.kind === 'refused' ? MALFORMED[verdict.refusal] : undefined;
  if (verdict.kind === 'refused' && about)
    throw invalidFields([{ field: FORMS[form][about], message: verdict.hint ?? REFUSALS[verdict.refusal] }]);
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
        ...heldOf(end),
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
        ...heldOf(end),
      },
    },
  };
}

/** Returns the sender that replaced the requested one, if there is one. */
const otherSenderOf = (verdict: Verdict): { sender?: string } =>
  verdict.kind === 'accepted' && verdict.sender !== undefined ? { sender: verdict.sender } : {};

/** Returns the rule of the calendar for which the message waits, if there is one. */
const heldOf = (verdict: Verdict) =>
  verdict.kind === 'accepted' && verdict.hold ? { held: toHoldOut(verdict.hold) } : undefined;

export const toHoldOut = ({ until, rule, source }: Hold): Static<typeof HoldOut> => ({
  until: until.toISOString(),
  rule,
  source,
});

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
  no_registered_route: 401,
  no_pool: 401,
  no_credit: 402,
  opted_out: 403,
  marketing_stopped: 403,
  stop_suspected: 403,
  not_opted_in: 403,
  weekly_cap: 403,
};

/**
 * The result of one destination: our id (null when it was rejected), the status code, the reason of a rejection (else
 * null or omitted), the sender if it differs from the requested one, and the rule for which it waits.
 */
type StoredResult = readonly [
  messageId: string | null,
  statusCode: number,
  reason?: string | null,
  sender?: string | null,
  held?: Static<typeof HoldOut>,
];

/** Makes the result of one destination of a bulk send. */
export function toResult(verdict: Verdict): StoredResult {
  const statusCode = statusCodeOf(verdict);
  if (verdict.kind === 'accepted') {
    const { messageId, sender, hold } = verdict;
    if (hold) return [messageId, statusCode, null, sender ?? null, toHoldOut(hold)];
    return sender === undefined ? [messageId, statusCode] : [messageId, statusCode, null, sender];
  }
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
  const results = stored.map(([id, statusCode, reason = null, sender = null, held], i) => ({
    destination: asked[i]?.destination ?? '',
    id,
    ...(asked[i]?.clientId && { customerMessageId: asked[i].clientId }),
    accepted: id !== null,
    statusCode,
    ...(reason !== null && { reason: textFor(reader, reason) }),
    ...(sender !== null && { sender }),
    ...(held && { held }),
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
    result: { accepted: end.kind === 'accepted', reasons: reasonsOf(reader, end), ...heldOf(end) },
  };
}

/** The Idempotency-Key of a send, and the response that is stored under it. */
export type IdempotentSend = Key & {
  /**
   * Returns the response to the client, as it is stored; null when it is an error, for which nothing is stored here.
   */
  answerOf(verdict: Verdict): SealedAnswer | null;
};

/**
 * Makes an `IdempotentSend` of a key.
 *
 * @param answer makes the response to the client; throws when the whole request fails
 */
export const idempotentSend = (
  { seal, ...key }: Key & { seal(payload: unknown): SealedAnswer },
  answer: (verdict: Verdict) => unknown,
): IdempotentSend => ({
  ...key,
  answerOf(verdict) {
    try {
      return seal(answer(verdict));
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  },
});

/** A send that may have an Idempotency-Key. */
export type MaybeIdempotent = { readonly idempotency?: IdempotentSend | undefined };

const nameOf = ({ accountId, key }: Key): string => `${accountId} ${key}`;

/**
 * Omits the items whose key occurs earlier in the same batch: of two requests with one key only the first is processed.
 */
export function firstOfEachKey<T extends MaybeIdempotent>(items: readonly T[]): T[] {
  const seen = new Set<string>();
  return items.filter(({ idempotency }) => {
    if (!idempotency) return true;
    const name = nameOf(idempotency);
    return !seen.has(name) && seen.add(name);
  });
}

/** Omits the items whose key has a response by now. */
export async function withoutTakenKeys<T extends MaybeIdempotent>(db: Db, items: readonly T[]): Promise<T[]> {
  const taken = await listTakenKeys(
    db,
    items.flatMap(({ idempotency }) => idempotency ?? []),
  );
  const names = new Set(taken.map(nameOf));
  return items.filter(({ idempotency }) => !idempotency || !names.has(nameOf(idempotency)));
}

/**
 * Stores the responses to these sends in the transaction of their messages, which fails when a key is taken. The
 * statement is sent before this returns, as a `burst` needs it.
 */
export async function storeAnswers(
  tx: Db,
  items: readonly MaybeIdempotent[],
  verdicts: readonly Verdict[],
): Promise<void> {
  const answers = items.flatMap(({ idempotency }, i) => {
    const verdict = verdicts[i];
    return (idempotency && verdict && idempotency.answerOf(verdict)) ?? [];
  });
  if (answers.length > 0) await insertAnswers(tx, answers);
}

/** Deletes the responses to bulk requests after 24 hours. */
export const sendingTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old bulk requests', work: every(HOUR_MS, () => deleteOldBulkRequests(pool)) },
];

/** A bulk request to which its client gave an id. */
export type BulkRequest = { readonly accountId: number; readonly globalId: string; readonly bodyHash: Uint8Array };

/**
 * Claims the id for 24 hours; returns 0 when it is in use. Of two concurrent transactions the second waits for the
 * first, and gets the id when that one is rolled back.
 */
export async function insertBulkRequest(db: Db, request: BulkRequest): Promise<number> {
  return exec(
    db,
    sql`INSERT INTO bulk_request AS r (account_id, global_id, body_hash)
        VALUES (${request.accountId}, ${request.globalId}, ${request.bodyHash})
        ON CONFLICT (account_id, global_id) DO UPDATE
          SET body_hash = excluded.body_hash, results = NULL, created_at = excluded.created_at
          WHERE r.created_at < now() - interval '24 hours'`,
  );
}

/** Stores the response. Call it in the transaction that claimed the id. */
export async function updateBulkResults(
  db: Db,
  request: { accountId: number; globalId: string; results: readonly StoredResult[] },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE bulk_request SET results = ${JSON.stringify(request.results)}::json
        WHERE account_id = ${request.accountId} AND global_id = ${request.globalId}`,
  );
}

const STORED_BULK_REQUEST = columns({
  bodyHash: as<Buffer>('body_hash'),
  results: as<StoredResult[]>('results'),
});

/** Finds the response to a request with this id within the last 24 hours. */
export const findBulkRequest = (
  db: Db,
  { accountId, globalId }: { accountId: number; globalId: string },
): Promise<RowOf<typeof STORED_BULK_REQUEST> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${STORED_BULK_REQUEST} FROM bulk_request
        WHERE account_id = ${accountId} AND global_id = ${globalId} AND created_at >= now() - interval '24 hours'`,
  );

/** Deletes responses that are older than 24 hours. Returns how many there were. */
export async function deleteOldBulkRequests(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM bulk_request WHERE created_at < now() - interval '24 hours'`);
}
