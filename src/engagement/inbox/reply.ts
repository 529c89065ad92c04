import type { Pool } from 'pg';
import { refuseOutsidePlan } from '../../identity/accounts/gate.ts';
import type { Db } from '../../platform/db/query.ts';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { newId } from '../../platform/lib/ids.ts';
import { NUMBER_FAULTS } from '../../platform/lib/phone/number-rules.ts';
import { readDestination } from '../../messaging/consent/check.ts';
import type { Accept } from '../../messaging/sending/accept.ts';
import { type Draft, type Refusal, REFUSALS, type Verdict } from '../../messaging/sending/draft.ts';
import { toMediaOut } from './answer.ts';
import { composeReply, type FindFile, type ComposedReply } from './compose.ts';
import type { ReplyIn, SentOut } from './schema.ts';
import * as db from './sql.ts';
import { publishInboxChanges } from './publish.ts';
import { insertThreadMessages } from './thread/sql.ts';
import { insertWatchedReply } from './watch/sql.ts';

export type ReplyDeps = {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  readonly findFile: FindFile;
};

/** Stores the response to a request with an Idempotency-Key, in the transaction of the message. */
export type ReplyAnswerStore = { claim(tx: Db): Promise<void>; store(tx: Db, answer: SentOut): Promise<unknown> };

/**
 * Replies in a conversation, or starts one: the message and its entry in the thread are committed together, and it is
 * charged, sent and tracked like any other message. Errors: 400 naming the faulty fields, also when the message is
 * rejected (opted out, no credit); 403 for a channel outside the plan; 404 when there is no such conversation.
 */
export async function reply(
  deps: ReplyDeps,
  actor: Actor,
  input: ReplyIn,
  answerStore?: ReplyAnswerStore,
): Promise<SentOut> {
  const { accountId } = actor;
  const ends = await resolveEndpoints(tenant(deps.pool, actor), actor, input);
  refuseOutsidePlan(actor, [ends.channel]);
  const composed = await composeReply(deps, actor, ends, input);
  const { draft } = composed;
  let answer: SentOut | undefined;
  await deps.accept.once(actor, [draft], {
    async claim(tx) {
      await answerStore?.claim(tx);
      await db.claimInboxes(tx, { accountIds: [accountId] });
      return true;
    },
    async record(tx, [verdict]) {
      const id = acceptedId(verdict, input);
      answer = await insertReply(tx, { accountId, id, ends, composed, at: deps.clock.now() });
      await answerStore?.store(tx, answer);
    },
  });
  if (!answer) throw new AppError('unavailable');
  return answer;
}

async function resolveEndpoints(
  tenantDb: Db,
  { accountId, numberRules }: Actor,
  input: ReplyIn,
): Promise<db.Endpoints> {
  const { chatId, channel, destination, channelIdentity: identity } = input;
  if (chatId !== undefined) {
    const ends = await db.findEndpoints(tenantDb, { accountId, chatId });
    if (!ends) throw new AppError('not_found');
    return ends;
  }
  const missing = Object.entries({ channel, destination, channelIdentity: identity }).flatMap(([field, value]) =>
    value === undefined ? [{ field, message: 'is required without chatId' }] : [],
  );
  if (channel === undefined || destination === undefined || identity === undefined) throw invalidFields(missing);
  const read = readDestination({ channel, destination }, numberRules);
  if ('fault' in read) throw invalidFields([{ field: 'destination', message: NUMBER_FAULTS[read.fault] }]);
  return { channel, peer: read.e164, identity };
}

const FIELDS: Partial<Record<Refusal, keyof ReplyIn>> = {
  bad_sender: 'channelIdentity',
  foreign_sender: 'channelIdentity',
  sender_not_allowed: 'channelIdentity',
  no_pool: 'channelIdentity',
  empty_body: 'text',
  bad_body: 'text',
  body_too_long: 'text',
  no_content: 'text',
};

function acceptedId(verdict: Verdict | undefined, { chatId }: ReplyIn): string {
  if (verdict?.kind === 'accepted') return verdict.messageId;
  if (verdict?.kind !== 'refused') throw new AppError('unavailable');
  const field = FIELDS[verdict.refusal] ?? (chatId === undefined ? 'destination' : 'chatId');
  throw invalidFields([{ field, message: REFUSALS[verdict.refusal] }]);
}

type Sent = {
  readonly accountId: number;
  readonly id: string;
  readonly ends: db.Endpoints;
  readonly composed: ComposedReply;
  readonly at: Date;
};

/**
 * Adds an accepted reply to its thread and follows its status, in the transaction of its message, which has claimed the
 * inbox.
 */
export async function insertReply(tx: Db, { accountId, id, ends, composed, at }: Sent): Promise<SentOut> {
  const { messageType, media, file, draft } = composed;
  const text = draft.body;
  const [changed] = await db.insertConversations(tx, {
    unarchive: false,
    rows: [
      {
        ...ends,
        identity: draft.sender,
        accountId,
        messageType,
        text,
        at,
        newChatId: newId(),
        profileName: '',
        unread: 0,
        windowExpiresAt: null,
        direction: 'OUTBOUND',
      },
    ],
  });
  if (!changed) throw new Error('the conversation was not written');
  const { chatId } = changed;
  const message = { id, direction: 'OUTBOUND', messageType, text, media, consent: null, at } as const;
  await insertThreadMessages(tx, [{ ...message, accountId, chatId }]);
  await insertWatchedReply(tx, { accountId, messageId: id, chatId, dueAt: at });
  await publishInboxChanges(tx, {
    changed: [changed],
    events: [
      { accountId, kind: 'message', chatId, messageId: id },
      { accountId, kind: 'conversation', chatId, messageId: null },
    ],
  });
  const { at: _, ...rest } = message;
  return { ...rest, chatId, media: media && toMediaOut(media, file ?? undefined), ...waitingFields(draft, at) };
}

/** The status and time of a message that is waiting, as tracking reports them. */
const waitingFields = ({ channel }: Draft, at: Date) => ({
  deliveryStatus: channel === 'SMS' ? 'ACCEPTED' : 'UNKNOWN',
  timestamp: at.toISOString(),
});
