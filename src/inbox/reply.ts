import type { Pool } from 'pg';
import { refuseOutsidePlan } from '../accounts/accounts.ts';
import type { Actor } from '../core/actor.ts';
import { CHANNEL, isRich } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { NUMBER_FAULTS } from '../core/phone.ts';
import type { LinkSigner } from '../core/storage.ts';
import type { Clock } from '../core/time.ts';
import { listMediaLinks, mediaForSend } from '../media/media.ts';
import { createMediaLinks } from '../media/store.ts';
import type { Accept } from '../messages/accept.ts';
import { purposeOfContent } from '../messages/billing.ts';
import { readDestination } from '../messages/consent.ts';
import type { OnAnswer } from '../messages/keywords.ts';
import { type Draft, newDraft, REFUSALS, type Refusal, type Verdict } from '../messages/read-send.ts';
import { readRcsSend, readWhatsappSend } from '../messages/rich.ts';
import { type FileLink, type FindFiles, publishInboxChanges, toMediaOut } from './conversations.ts';
import type { ReplyIn, SentOut } from './schema.ts';
import * as db from './store.ts';
import { claimInboxes, type Endpoints, insertThreadMessages, insertWatchedReply, type ThreadMedia } from './store.ts';

type ReplyDeps = {
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
    return existing(db.findEndpoints(tenantDb, { accountId, chatId }));
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
  no_registered_route: 'channelIdentity',
  no_pool: 'channelIdentity',
  empty_body: 'text',
  bad_body: 'text',
  body_too_long: 'text',
  no_public_url: 'text',
  no_content: 'text',
  no_dlt_template: 'text',
  weekly_cap: 'channelIdentity',
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
        freeEntryUntil: null,
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
  return {
    ...rest,
    chatId,
    content: null,
    media: media && toMediaOut(media, file ?? undefined),
    ...waitingFields(draft, at),
  };
}

/** The status and time of a message that is waiting, as tracking reports them. */
const waitingFields = ({ channel }: Draft, at: Date) => ({
  deliveryStatus: CHANNEL[channel].showsAccepted ? 'ACCEPTED' : 'UNKNOWN',
  timestamp: at.toISOString(),
});

/**
 * Finds a file of the account, with the links by which networks and people get it. Undefined: there is no such file.
 */
type FindFile = (accountId: number, mediaId: number) => Promise<(FileLink & { name: string }) | undefined>;

/** A reply as it is sent, and as the thread stores it. */
type ComposedReply = {
  readonly draft: Draft;
  readonly messageType: 'TEXT' | 'IMAGE' | 'VIDEO' | 'TEMPLATE';
  readonly media: ThreadMedia | null;
  /** The links to the file of `media`, for the response to the request. */
  readonly file: FileLink | null;
};

type Tenant = Pick<Actor, 'accountId'>;
type Deps = { readonly pool: Pool; readonly clock: Clock; readonly findFile: FindFile };
type Content = Pick<ReplyIn, 'text' | 'mediaId' | 'template'>;

/** The limit of the RBM API. */
const MAX_RCS_CHARACTERS = 3072;

/** Composes a reply for the channel of its conversation. Errors: 400 naming the faulty fields. */
export async function composeReply(deps: Deps, actor: Tenant, ends: Endpoints, input: Content): Promise<ComposedReply> {
  const { text, mediaId, template } = input;
  const given = Object.entries({ text, mediaId, template }).filter(([, value]) => value !== undefined);
  if (given.length !== 1)
    throw invalidFields(
      ['text', 'mediaId', 'template'].map((field) => ({
        field,
        message: 'exactly one of text, mediaId and template is required',
      })),
    );
  if (!isRich(ends.channel) && text === undefined)
    throw invalidFields([
      { field: given[0]?.[0] ?? 'text', message: `is not possible on ${ends.channel}: send a text` },
    ]);
  if (mediaId !== undefined) return composeMedia(deps, actor, ends, mediaId);
  const draft = await composeTextOrTemplate(deps, actor, ends, input);
  return { draft: fromInbox(draft), messageType: template ? 'TEMPLATE' : 'TEXT', media: null, file: null };
}

const fromInbox = (draft: Draft): Draft => ({
  ...draft,
  source: 'INBOX',
  isKnownNumber: true,
  purpose: purposeOfContent(draft.content, draft.template) ?? 'service',
});

async function composeTextOrTemplate(
  deps: Deps,
  actor: Tenant,
  ends: Endpoints,
  { text = '', template }: Content,
): Promise<Draft> {
  const { channel, peer: destination, identity } = ends;
  if (!isRich(channel)) return smsDraft(ends, text);
  const [db, now] = [tenant(deps.pool, actor), deps.clock.now()];
  if (channel === 'WHATSAPP') {
    const body = template ? { template } : { body: { type: 'TEXT', text } as const };
    return readWhatsappSend(db, actor, { phoneNumberId: identity, destination, ...body }, now);
  }
  if (text.length > MAX_RCS_CHARACTERS)
    throw invalidFields([{ field: 'text', message: `must have at most ${MAX_RCS_CHARACTERS} characters on RCS` }]);
  const body = template ? toRcsTemplate(template) : { body: { type: 'TEXT', text } as const };
  return readRcsSend(db, actor, { agentId: identity, destination, ...body }, now);
}

function toRcsTemplate({ id, variables }: NonNullable<ReplyIn['template']>) {
  if (id === undefined) throw invalidFields([{ field: 'template.id', message: 'is required on RCS' }]);
  return { templateId: id, ...(variables && { variables }) };
}

const smsDraft = ({ peer, identity }: Endpoints, body: string): Draft =>
  newDraft({ channel: 'SMS', source: 'INBOX', destination: peer, isKnownNumber: true, sender: identity, body });

async function composeMedia(deps: Deps, actor: Tenant, ends: Endpoints, mediaId: number): Promise<ComposedReply> {
  const file = await deps.findFile(actor.accountId, mediaId);
  if (!file) throw invalidFields([{ field: 'mediaId', message: 'does not exist' }]);
  const messageType = file.mimeType.startsWith('video/') ? 'VIDEO' : 'IMAGE';
  const { channel, peer: destination, identity } = ends;
  const [db, now] = [tenant(deps.pool, actor), deps.clock.now()];
  const draft =
    channel === 'WHATSAPP'
      ? readWhatsappSend(db, actor, { phoneNumberId: identity, destination, body: { type: messageType, mediaId } }, now)
      : readRcsSend(db, actor, { agentId: identity, destination, body: { type: 'FILE', mediaId } }, now);
  const { name: fileName, ...link } = file;
  const media = { state: 'STORED', mediaId, mimeType: file.mimeType, fileName } as const;
  return { draft: fromInbox(await draft.catch(renameMediaField)), messageType, media, file: link };
}

/** A send has its file in `body.mediaId`, a reply in `mediaId`. */
function renameMediaField(error: unknown): never {
  if (!(error instanceof AppError) || !error.details) throw error;
  throw invalidFields(
    error.details.map(({ field, message }) => ({ field: field === 'body.mediaId' ? 'mediaId' : field, message })),
  );
}

type FileDeps = {
  readonly pool: Pool;
  readonly links: LinkSigner;
  readonly clock: Clock;
  readonly config: { readonly publicUrl: string };
};

/**
 * Creates the lookup of stored files: `findMany` for those of an account's threads, `find` for one that is to be sent.
 */
export function createFileLookup({ pool, links: signer, clock, config }: FileDeps): {
  findMany: FindFiles;
  find: FindFile;
} {
  const links = createMediaLinks({ links: signer, publicUrl: config.publicUrl });
  return {
    findMany: (accountId, ids) =>
      listMediaLinks(tenant(pool, { accountId }), links, { accountId, ids, now: clock.now() }),
    find: (accountId, id) => mediaForSend(tenant(pool, { accountId }), links, { accountId, id, now: clock.now() }),
  };
}

/**
 * Adds answers to keywords to the threads of the people who get them, as replies, in the transaction that makes them:
 * an agent sees the answer that a person received.
 */
export const threadAnswers: OnAnswer = {
  claim: (tx, { accountId }) => claimInboxes(tx, { accountIds: [accountId] }),
  record(tx, { accountId, messageId: id, draft }) {
    const { channel, destination: peer, sender: identity } = draft;
    const composed = { draft, messageType: 'TEXT', media: null, file: null } as const;
    return insertReply(tx, { accountId, id, ends: { channel, peer, identity }, composed, at: new Date() });
  },
};
