import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { nextTurn } from '../core/background.ts';
import { CHANNELS } from '../core/channels.ts';
import { inTurn, tenant } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref, WholesaleErrorOut, withExamples } from '../core/http/app.ts';
import type { DirectRoute } from '../core/http/direct.ts';
import { assertScope, requireAnyScope, requireScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { readFaults } from '../core/http/more-faults.ts';
import { claimKey, insertAnswers, type Key, type SealedAnswer } from '../core/idempotency.ts';
import type { AmountReader } from '../core/money.ts';
import type { Clock } from '../core/time.ts';
import type { Tracing } from '../core/tracing.ts';
import { findCallback } from '../webhooks/endpoints.ts';
import type { Accept, OnceRequest } from './accept.ts';
import { cancelMessage } from './cancellation.ts';
import { type Draft, readBulk, readMessageServer, readSend, type Verdict } from './read-send.ts';
import { readRcsSend, readWhatsappSend } from './rich.ts';
import * as schemaRich from './rich-schema.ts';
import { type PreviewRouteDeps, previewRoutes } from './send-preview.ts';
import * as db from './send-response.ts';
import {
  answerBulk,
  answerMessageServer,
  answerRich,
  answerSend,
  type IdempotentSend,
  idempotentSend,
  toResult,
} from './send-response.ts';
import type { BulkIn, BulkOut } from './send-schema.ts';
import * as schema from './send-schema.ts';
import { findRecords } from './status.ts';

const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';
const MESSAGES = '/api/partner-gateway/v1/messages';

/** Maximum size of the body of a bulk request. */
export const BULK_LIMIT_BYTES = 16 * 1024 * 1024;

const isSend = (body: schema.SendIn | schema.MessageServerIn): body is schema.SendIn => 'phoneNumber' in body;

/** Accepts a code that a client sends as a plain message, as `Accept.one` does. Throws 403 or 429 if the guard stops it. */
export type AcceptGuarded = (actor: Actor, draft: Draft, idempotency?: IdempotentSend) => Promise<Verdict>;

export type SendRouteDeps = PreviewRouteDeps & {
  /** Omitted where nothing is guarded. */
  readonly acceptGuarded?: AcceptGuarded;
  readonly accept: Accept;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

const SEND_BODY = Type.Union([schema.SendIn, schema.MessageServerIn]);
type SendBody = schema.SendIn | schema.MessageServerIn;

const readOne = (body: SendBody, { clock }: Pick<SendRouteDeps, 'clock'>) =>
  isSend(body) ? readSend(body, clock.now()) : readMessageServer(body, clock.now());

const answerOne = (actor: Actor, body: SendBody, verdict: Verdict) =>
  isSend(body) ? answerSend(actor, body, verdict) : answerMessageServer(actor, body, verdict);

/** Finds the endpoint for the `callbackUrl` of drafts of one request, if it has one. Errors: 400 naming it. */
async function withCallback(pool: Pool, actor: Actor, drafts: Draft[]): Promise<Draft[]> {
  const url = drafts[0]?.callbackUrl;
  if (url === undefined) return drafts;
  const callback = await findCallback(tenant(pool, actor), { accountId: actor.accountId, url });
  return drafts.map((draft) => ({ ...draft, clientData: { ...draft.clientData, callback } }));
}

async function acceptOne(
  { accept, pool, acceptGuarded }: Pick<SendRouteDeps, 'accept' | 'pool' | 'acceptGuarded'>,
  actor: Actor,
  draft: Draft,
  idempotency?: IdempotentSend,
): Promise<Verdict> {
  const [ready = draft] = draft.callbackUrl === undefined ? [] : await withCallback(pool, actor, [draft]);
  const isCode = (draft.purpose ?? actor.sendingRules?.purpose) === 'otp';
  if (acceptGuarded && isCode && draft.userIp !== undefined && !draft.simulation)
    return acceptGuarded(actor, ready, idempotency);
  return accept.one(actor, ready, idempotency);
}

/** The send of one SMS, which most requests are. */
export const directSend = (deps: SendRouteDeps): DirectRoute => ({
  path: SEND,
  scope: 'SMS',
  body: SEND_BODY,
  authenticate: deps.authenticate,
  read(document) {
    const body = document as SendBody;
    const draft = readOne(body, deps);
    return async (actor) => answerOne(actor, body, await acceptOne(deps, actor, draft));
  },
});

/** Registers the routes of single sends, bulk sends and cancellation. */
export function sendingRoutes(app: App, deps: SendRouteDeps): void {
  const { accept, clock, pool, tracing } = deps;
  previewRoutes(app, deps);
  const maySend = requireScope('SMS');

  app.post(SEND, {
    onRequest: maySend,
    schema: {
      tags: ['Sending'],
      operationId: 'sendSms',
      summary: 'Send one SMS',
      description:
        'Two bodies are accepted: the short one and that of the message server. The response has the form of the body.',
      body: withExamples(
        SEND_BODY,
        { phoneNumber: '+393331234567', message: 'Your parcel arrives today', customerMessageId: 'order-4711' },
        {
          destination: '+393331234567',
          sender: 'ACME',
          body: 'Hello {{name}}',
          placeholders: { name: 'Ada' },
          validityPeriod: 60,
        },
      ),
      response: { 200: Type.Union([schema.SendOut, schema.MessageServerOut]), 409: ref(ErrorOut) },
    },
    config: { moreFaults: readFaults(SEND_BODY, (body) => readOne(body, deps)) },
    handler: idempotentHandler(deps, async ({ actor, body, headers }, _reply, pendingAnswer) => {
      const draft = readOne(body, deps);
      const answer = (verdict: Verdict) => answerOne(actor, body, verdict);
      const traced = tracing ? { ...draft, caller: tracing.callerOf(headers) } : draft;
      return answer(await acceptOne(deps, actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });

  app.post(BULK, {
    onRequest: maySend,
    bodyLimit: BULK_LIMIT_BYTES,
    schema: {
      tags: ['Sending'],
      operationId: 'sendBulkSms',
      summary: 'Send up to 10,000 SMS in one request',
      description:
        'Each destination has a separate result, in the order of the request: an invalid one does not stop the others.',
      body: withExamples(schema.BulkIn, schema.BULK_EXAMPLE),
      response: { 200: schema.BulkOut, 409: ref(WholesaleErrorOut) },
    },
    handler: idempotentHandler(deps, ({ actor, body }, _reply, pendingAnswer) =>
      sendBulk({ pool, accept, clock }, actor, body, pendingAnswer),
    ),
  });

  app.delete(`${MESSAGES}/:messageId`, {
    onRequest: requireAnyScope(CHANNELS, 'write'),
    schema: {
      tags: ['Sending'],
      operationId: 'cancelMessage',
      summary: 'Cancel a waiting message',
      description:
        'By our id. The message ends DELETED and its credit is returned. 409 when it is on its way to the carrier or has ' +
        'a final status already. Requires the scope of its channel.',
      params: Type.Object({ messageId: Type.String() }),
      response: { 204: Type.Null({ description: 'Cancelled' }), 409: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { actor, params } = request;
      const id = params.messageId.toLowerCase();
      const [record] = await findRecords(tenant(pool, actor), actor, { ids: [id], clientIds: [] });
      if (!record) throw new AppError('not_found');
      assertScope(request, record.channel);
      if (!(await cancelMessage(pool, actor, { id, now: clock.now() })))
        throw new AppError('conflict', {
          message: 'The message is on its way or has a final status and cannot be cancelled',
        });
      return reply.code(204).send(null);
    },
  });
}

const MS = '/api/message-server';

const FALLBACK =
  '\n\nWith a fallback, another message follows on the next channel when this one fails, or has not been delivered after ' +
  '`fallback.after` seconds. It follows an RCS message only when the network has revoked that one, and never while the ' +
  'outcome of the previous message is unknown. Each message has its own id, price, record and webhook events; ' +
  'all have your `customerMessageId`, under which you get the status of the newest. The response names ' +
  'the first. A message that must not be sent (opted out, no credit, …) ends REJECTED at no price, and nothing follows ' +
  'it. A late receipt changes only the message that it reports on. Cancelling a message ends the chain. The credentials ' +
  'need the scopes of all channels.';

type RichRouteDeps = PlatformDeps & {
  readonly accept: Accept;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

/** Registers the routes of single sends on WhatsApp and RCS. */
export function richMessageRoutes(app: App, deps: RichRouteDeps): void {
  const { clock, pool, tracing } = deps;
  const readWhatsapp = (actor: Actor, body: Type.Static<typeof schemaRich.WhatsappSendIn>) =>
    readWhatsappSend(tenant(pool, actor), actor, body, clock.now());
  const readRcs = (actor: Actor, body: Type.Static<typeof schemaRich.RcsSendIn>) =>
    readRcsSend(tenant(pool, actor), actor, body, clock.now());

  app.post(`${MS}/whatsapp/send`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'sendWhatsapp',
      summary: 'Send one WhatsApp message',
      description:
        'A template, or a body to a person who wrote within 24 hours. A template is checked before anything is sent: 400 ' +
        'when it is unknown or not approved, or when its values do not fit. A body after the 24 hours is accepted and ends ' +
        `CONVERSATION_CLOSED.${FALLBACK}`,
      body: withExamples(schemaRich.WhatsappSendIn, schemaRich.WHATSAPP_EXAMPLE),
      response: { 200: schemaRich.WhatsappSendOut, 409: ref(ErrorOut) },
    },
    config: { moreFaults: readFaults(schemaRich.WhatsappSendIn, (body, { actor }) => readWhatsapp(actor, body)) },
    handler: idempotentHandler(deps, async (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.fallbackRcs) assertScope(request, 'RCS');
      if (body.fallbackSms) assertScope(request, 'SMS');
      const draft = await readWhatsapp(actor, body);
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(actor, body, verdict);
        return { ...rest, results: { whatsapp: result } };
      };
      const traced = tracing ? { ...draft, caller: tracing.callerOf(request.headers) } : draft;
      return answer(await acceptOne(deps, actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });

  app.post(`${MS}/rcs/send`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'sendRcs',
      summary: 'Send one RCS message',
      description:
        'A template or a body. A message to a number that RCS does not reach is accepted and ends ' +
        `UNSUPPORTED.${FALLBACK}`,
      body: withExamples(schemaRich.RcsSendIn, schemaRich.RCS_EXAMPLE),
      response: { 200: schemaRich.RcsSendOut, 409: ref(ErrorOut) },
    },
    config: { moreFaults: readFaults(schemaRich.RcsSendIn, (body, { actor }) => readRcs(actor, body)) },
    handler: idempotentHandler(deps, async (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.fallbackSms) assertScope(request, 'SMS');
      const draft = await readRcs(actor, body);
      const answer = (verdict: Verdict) => {
        const { result, ...rest } = answerRich(actor, body, verdict);
        return { ...rest, results: { rcs: result } };
      };
      const traced = tracing ? { ...draft, caller: tracing.callerOf(request.headers) } : draft;
      return answer(await acceptOne(deps, actor, traced, pendingAnswer && idempotentSend(pendingAnswer, answer)));
    }),
  });
}

/** Maximum destinations of a bulk request. */
export const MAX_DESTINATIONS = 10_000;

export type BulkDeps = {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
};
type Answer = Static<typeof BulkOut>;
/** An Idempotency-Key, and the function that seals a response to be stored under it. */
type PendingBulkAnswer = Key & { seal(answer: Answer): SealedAnswer };

/**
 * Accepts a bulk request. With a `globalId` it is accepted once in 24 hours: its first response is stored in the
 * transaction of its messages and returned again to a repeat; of two at the same time the second waits for the first.
 * With an Idempotency-Key (`pendingAnswer`) the response is stored in that transaction as well.
 *
 * Errors: 400 naming the invalid fields, 409 when the id was used for another body, 413 for more than 10,000
 * destinations; `isKeyTaken` when another request has the key.
 */
export async function sendBulk(
  deps: BulkDeps,
  actor: Actor,
  bulk: BulkIn,
  pendingAnswer?: PendingBulkAnswer,
): Promise<Answer> {
  refuseTooMany(bulk);
  if (bulk.globalId !== undefined) return sendGlobal(deps, actor, bulk, { globalId: bulk.globalId, pendingAnswer });
  const drafts = await readBulkDrafts(deps, actor, bulk);
  const verdicts = pendingAnswer
    ? await deps.accept.once(actor, drafts, onceByKey(actor, bulk, pendingAnswer))
    : await deps.accept.many(actor, drafts);
  return answerInTurn(actor, bulk, (verdicts ?? []).map(toResult));
}

/**
 * Makes the response in a separate turn of the event loop: serializing 10,000 results takes some 4 ms, after the commit
 * and its news.
 */
async function answerInTurn(...results: Parameters<typeof answerBulk>): Promise<Answer> {
  await nextTurn();
  return answerBulk(...results);
}

type Ids = { readonly globalId: string; readonly pendingAnswer: PendingBulkAnswer | undefined };

const readBulkDrafts = ({ pool, clock }: BulkDeps, actor: Actor, bulk: BulkIn): Promise<Draft[]> =>
  withCallback(pool, actor, readBulk(bulk, clock.now()));

async function sendGlobal(
  deps: BulkDeps,
  actor: Actor,
  bulk: BulkIn,
  { globalId, pendingAnswer }: Ids,
): Promise<Answer> {
  const { pool } = deps;
  const request = { accountId: actor.accountId, globalId, bodyHash: hashOf(bulk) };
  const earlier = await findAnswer(pool, request, actor, bulk);
  const once = pendingAnswer ? both(onceById(request), onceByKey(actor, bulk, pendingAnswer)) : onceById(request);
  const verdicts = earlier ? null : await deps.accept.once(actor, await readBulkDrafts(deps, actor, bulk), once);
  if (verdicts) return answerInTurn(actor, bulk, verdicts.map(toResult));
  const answer = earlier ?? (await findAnswer(pool, request, actor, bulk));
  if (!answer) throw new AppError('unavailable');
  if (pendingAnswer) await inTurn(pool, actor, () => insertAnswers(pool, [pendingAnswer.seal(answer)]));
  return answer;
}

function refuseTooMany({ messages }: BulkIn): void {
  const count = messages.reduce((sum, message) => sum + message.destinations.length, 0);
  if (count > MAX_DESTINATIONS)
    throw new AppError('too_large', {
      message: `${count} destinations: a request may have at most ${MAX_DESTINATIONS}`,
    });
}

const hashOf = (bulk: BulkIn): Buffer => createHash('sha256').update(JSON.stringify(bulk)).digest();

async function findAnswer(
  pool: Pool,
  request: db.BulkRequest,
  reader: AmountReader,
  bulk: BulkIn,
): Promise<Answer | undefined> {
  const stored = await db.findBulkRequest(tenant(pool, request), request);
  if (!stored) return undefined;
  if (!stored.bodyHash.equals(request.bodyHash))
    throw new AppError('conflict', { message: 'This globalId was used for another body within 24 hours' });
  return answerBulk(reader, bulk, stored.results);
}

/** Accepts a bulk request once by its `globalId`. */
const onceById = (request: db.BulkRequest): OnceRequest => ({
  claim: async (tx) => (await db.insertBulkRequest(tx, request)) === 1,
  record: (tx, verdicts) => db.updateBulkResults(tx, { ...request, results: verdicts.map(toResult) }),
});

/** Accepts a bulk request once by its Idempotency-Key. */
const onceByKey = (reader: AmountReader, bulk: BulkIn, key: PendingBulkAnswer): OnceRequest => ({
  claim: (tx) => claimKey(tx, key).then(() => true),
  record: async (tx, verdicts) =>
    void (await insertAnswers(tx, [key.seal(answerBulk(reader, bulk, verdicts.map(toResult)))])),
});

/** Accepts a request if neither of two ids was used before. */
const both = (one: OnceRequest, other: OnceRequest): OnceRequest => ({
  claim: async (tx) => (await one.claim(tx)) && other.claim(tx),
  record: async (tx, verdicts) => {
    await one.record(tx, verdicts);
    await other.record(tx, verdicts);
  },
});
