import { fastifySSE } from '@fastify/sse';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AccountAway, AppError } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import type { Log } from '../core/log.ts';
import {
  type FindFiles,
  findEventBounds,
  findStatuses,
  type InboxEvent,
  listInboxEvents,
  listNotesById,
  toConversationOut,
  toMessagesOut,
  toNoteOut,
} from './conversations.ts';
import { listConversationsById } from './listing.ts';
import type { Presence, Sighting } from './presence.ts';
import { listThreadMessages } from './store.ts';

const HEARTBEAT_MS = 15_000;
/** Maximum number of streams of one account per process. */
export const MAX_STREAMS = 200;
/**
 * Maximum number of events waiting for a client. A client that is further behind, or takes none between two heartbeats,
 * is disconnected; it reconnects and resumes.
 */
const MAX_WAITING = 2000;

type Deps = PlatformDeps & { readonly findFiles: FindFiles; readonly inboxHub: Hub; readonly presence: Presence };

export function streamRoutes(app: App, path: string, deps: Deps): void {
  app.register(async (scope: App) => {
    await scope.register(fastifySSE, { heartbeatInterval: HEARTBEAT_MS });
    const streams: Streams = { ends: new Set(), byAccount: new Map(), closing: false };
    // A server that closes waits for its responses, and these never end by themselves.
    scope.addHook('preClose', (done) => {
      streams.closing = true;
      for (const end of streams.ends) end();
      done();
    });
    scope.get(`${path}/stream`, {
      onRequest: requireScope('inbox'),
      // Errors have the usual form of this API.
      sse: 'manual',
      schema: {
        tags: ['Inbox'],
        operationId: 'streamInbox',
        summary: 'Stream the changes of the inbox as server-sent events',
        description:
          'The events are `message` (a message with its chatId), `status` (chatId, messageId, deliveryStatus), ' +
          '`conversation`, `note` (its chatId and id alone: it was deleted) and `presence` (chatId, username, activity; ' +
          'without an id); `ready` comes first. With `Last-Event-ID`, the stream resumes after that event, at any process; ' +
          '`reload` comes first if that event is older than stored events (a day). With an Accept header that does not ' +
          'allow text/event-stream, such as application/json, or without one, the response has the missed events and ' +
          'ends. Credentials are checked again every 15 seconds.',
        response: {
          200: { description: 'text/event-stream', content: { 'text/event-stream': { schema: Type.String() } } },
        },
      },
      handler: (request, reply) => stream(deps, streams, request, reply),
    });
  });
}

/** An event without an id: a stream that resumes does not repeat it. */
const toEvent = ({ chatId, username, activity }: Sighting): StreamEvent => ({
  event: 'presence',
  data: { chatId, username, activity },
});

/**
 * Returns true if a client takes an event stream, as stated by browsers, curl and fetch(). Others would wait forever
 * for an end.
 */
const isFollowing = ({ headers }: FastifyRequest): boolean =>
  /(text\/event-stream|text\/\*|\*\/\*)/i.test(headers.accept ?? '');

type Streams = {
  readonly ends: Set<() => void>;
  /** Number of streams of each account. */
  readonly byAccount: Map<number, number>;
  closing: boolean;
};

async function stream(deps: Deps, streams: Streams, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { inboxHub: hub, pool, findFiles } = deps;
  const { accountId } = request.actor;
  if (!enter(streams, accountId, reply)) return;
  const db = tenant(pool, request.actor);
  const { after, lost } = startingPoint(reply.sse.lastEventId, await findEventBounds(db, { accountId }));
  const sender = createSender(reply, (events) => renderEvents(db, findFiles, { actor: request.actor, events }));
  if (!reply.sse.isConnected) return;
  // nginx would otherwise collect events until a buffer is full.
  reply.raw.setHeader('x-accel-buffering', 'no');
  const follows = isFollowing(request) && !streams.closing;
  // Before the first byte is sent: a client that has it may expect the rest.
  const leave = follows ? keepOpen(deps, streams, request, { reply, sender }) : [];
  sender.sendOne({ id: String(after), event: lost ? 'reload' : 'ready', data: {} });
  const off = await hub.listen(accountId, after, sender.send).catch((error: unknown) => {
    reply.raw.destroy();
    throw error;
  });
  if (follows && reply.sse.isConnected)
    leave.push(
      off,
      deps.presence.listen(accountId, (seen) => sender.sendOne(toEvent(seen))),
    );
  else off();
  if (!follows) await sender.end();
}

/**
 * Counts a stream until its response is closed, or throws 429; false if it is closed already, because the client
 * disconnected while its credentials were checked. Nothing may be awaited between the check and the count, because
 * streams that are opened at the same time would all be let in.
 */
function enter({ byAccount }: Streams, accountId: number, { raw }: FastifyReply): boolean {
  const count = byAccount.get(accountId) ?? 0;
  if (count >= MAX_STREAMS)
    throw new AppError('rate_limited', { message: 'This account has too many streams', retryAfterSeconds: 10 });
  if (raw.closed) return false;
  byAccount.set(accountId, count + 1);
  raw.once('close', () => {
    const left = (byAccount.get(accountId) ?? 1) - 1;
    if (left === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, left);
  });
  return true;
}

type Out = { readonly reply: FastifyReply; readonly sender: Sender };

/**
 * Keeps a stream open until the client disconnects or stops reading, the server closes, the credentials are revoked or
 * the account is in another cell. The functions in the returned list are called then.
 */
function keepOpen(deps: Deps, { ends }: Streams, request: FastifyRequest, { reply, sender }: Out): (() => void)[] {
  const end = (): void => reply.sse.close();
  const recheck = async (): Promise<void> => {
    if (sender.stoodStill()) return void reply.raw.destroy();
    if (await isStillAllowed(deps, request)) deps.inboxHub.wake(request.actor.accountId);
    else end();
  };
  const check = setInterval(() => void recheck(), HEARTBEAT_MS);
  const leave = [() => clearInterval(check), () => void ends.delete(end)];
  reply.sse.keepAlive();
  ends.add(end);
  reply.sse.onClose(() => {
    for (const each of leave) each();
  });
  return leave;
}

/**
 * Returns true if the credentials of a stream are still valid: not if a key was revoked, a user was removed or has
 * another role that shows contacts differently, or an operator has left the account. Nor if the account has moved to
 * another cell, where a client that connects again continues. Being over the rate limit does not end a stream.
 */
const isStillAllowed = ({ authenticate }: Deps, request: FastifyRequest): Promise<boolean> =>
  authenticate(request).then(
    ({ actor }) =>
      actor.operations.has('inbox') &&
      actor.operations.has('contacts') === request.actor.operations.has('contacts') &&
      actor.accountId === request.actor.accountId,
    (error: unknown) =>
      !(error instanceof AccountAway) &&
      !(error instanceof AppError && (error.code === 'unauthenticated' || error.code === 'forbidden')),
  );

const EVENT_ID = /^\d{1,15}$/;

/** Returns the event after which a stream starts. An id that never existed (of another database) counts as too old. */
function startingPoint(lastEventId: string | null, { newest, oldest }: { newest: number; oldest: number }) {
  if (lastEventId === null || !EVENT_ID.test(lastEventId)) return { after: newest, lost: false };
  const asked = Number(lastEventId);
  const lost = asked > newest || asked < oldest - 1;
  return { after: lost ? newest : asked, lost };
}

type Sender = {
  sendOne(event: StreamEvent): void;
  send(events: readonly InboxEvent[]): void;
  /** Returns true if events have waited since the last call, and none of them could be written. */
  stoodStill(): boolean;
  /** Resolves when everything is written. */
  end(): Promise<void>;
};

/** Creates a writer that sends events one after the other, as fast as the client reads them. */
function createSender(reply: FastifyReply, show: (events: readonly InboxEvent[]) => Promise<StreamEvent[]>): Sender {
  let chain = Promise.resolve();
  let waiting = 0;
  let written = 0;
  let before: { readonly waited: boolean; readonly written: number } = { waited: false, written };
  const write = async (events: readonly StreamEvent[]): Promise<void> => {
    for (const event of events) {
      if (reply.sse.isConnected) await reply.sse.send(event);
      written++;
    }
  };
  const later = (count: number, work: () => Promise<void>): void => {
    waiting += count;
    if (waiting > MAX_WAITING) return void reply.raw.destroy();
    chain = chain
      .then(work)
      .catch((err: unknown) => {
        reply.log.warn({ err }, 'a stream of the inbox has ended');
        reply.raw.destroy();
      })
      .finally(() => (waiting -= count));
  };
  return {
    sendOne: (event) => later(1, () => write([event])),
    send: (events) => later(events.length, async () => write(await show(events))),
    stoodStill() {
      const still = before.waited && waiting > 0 && written === before.written;
      before = { waited: waiting > 0, written };
      return still;
    },
    end: () => chain,
  };
}

/** Receives the events of one account in their order, each once. */
type Listener = (events: readonly InboxEvent[]) => void;

export type Hub = {
  /** Reads new events of an account; null: of all accounts, because notifications may have been missed. */
  wake(accountId: number | null): void;
  /**
   * Passes the events after the event `after` to a listener, until the returned function is called. Rejects with the
   * error of the database when the events until now cannot be read.
   */
  listen(accountId: number, after: number, listener: Listener): Promise<() => void>;
  count(accountId: number): number;
};

const EVENTS_PER_READ = 200;

type Feed = {
  readonly listeners: Set<Listener>;
  /** The newest event that was passed on. */
  at: number;
  reading: boolean;
  again: boolean;
};

/**
 * Creates a hub that passes the events of inboxes to the listeners of this process; each event is read once for all of
 * them. Events are committed in the order of their ids, so the newest id that was read determines the next ones.
 */
export function createHub({ pool, log }: { readonly pool: Pool; readonly log: Log }): Hub {
  const feeds = new Map<number, Feed>();

  async function read(accountId: number, feed: Feed): Promise<void> {
    feed.again = true;
    if (feed.reading) return;
    feed.reading = true;
    try {
      while (feed.again && feed.listeners.size > 0) {
        feed.again = false;
        const events = await listInboxEvents(tenant(pool, { accountId }), {
          accountId,
          after: feed.at,
          limit: EVENTS_PER_READ,
        });
        feed.at = events.at(-1)?.id ?? feed.at;
        if (events.length > 0) for (const listener of feed.listeners) listener(events);
        if (events.length === EVENTS_PER_READ) feed.again = true;
      }
    } catch (err) {
      log.warn({ err, accountId }, 'events of an inbox cannot be read; retrying at the next event');
    } finally {
      feed.reading = false;
    }
  }

  function join(accountId: number, newest: number, listener: Listener): Feed {
    const feed = feeds.get(accountId) ?? { listeners: new Set(), at: newest, reading: false, again: false };
    feeds.set(accountId, feed);
    feed.listeners.add(listener);
    return feed;
  }

  function leave(accountId: number, feed: Feed, listener: Listener): void {
    feed.listeners.delete(listener);
    if (feed.listeners.size === 0 && feeds.get(accountId) === feed) feeds.delete(accountId);
  }

  return {
    wake(accountId) {
      for (const [id, feed] of feeds) if (accountId === null || accountId === id) void read(id, feed);
    },
    async listen(accountId, after, listener) {
      const db = tenant(pool, { accountId });
      const { newest } = await findEventBounds(db, { accountId });
      const { hear, catchUp } = createCatchUp(after, listener);
      const feed = join(accountId, newest, hear);
      const off = (): void => leave(accountId, feed, hear);
      try {
        await catchUp((from) => listInboxEvents(db, { accountId, after: from, limit: EVENTS_PER_READ }));
      } catch (error) {
        off();
        throw error;
      }
      return off;
    },
    count: (accountId) => feeds.get(accountId)?.listeners.size ?? 0,
  };
}

/**
 * Wraps a listener that joins late: new events wait until the missed ones have been read, and events that are in both
 * are passed on once.
 */
function createCatchUp(after: number, listener: Listener) {
  let at = after;
  let waiting: InboxEvent[] | null = [];
  const pass = (events: readonly InboxEvent[]): void => {
    const fresh = events.filter((event) => event.id > at);
    at = fresh.at(-1)?.id ?? at;
    if (fresh.length > 0) listener(fresh);
  };
  return {
    hear: (events: readonly InboxEvent[]): void => (waiting ? void waiting.push(...events) : pass(events)),
    async catchUp(read: (from: number) => Promise<InboxEvent[]>): Promise<void> {
      for (;;) {
        const missed = await read(at);
        pass(missed);
        if (missed.length < EVENTS_PER_READ) break;
      }
      const heard = waiting ?? [];
      waiting = null;
      pass(heard);
    },
  };
}

/** The caller to whom events are shown. */
type Reader = Pick<Actor, 'accountId' | 'operations'>;

/** An event as it is sent to clients. */
type StreamEvent = { readonly id?: string; readonly event: string; readonly data: unknown };

/**
 * Renders events with the current state of their subject: a missed event shows the current state, and events about
 * deleted subjects are omitted.
 */
async function renderEvents(
  db: Db,
  findFiles: FindFiles,
  { actor, events }: { readonly actor: Reader; readonly events: readonly InboxEvent[] },
): Promise<StreamEvent[]> {
  const { accountId } = actor;
  const [conversations, messages, statuses, notes] = await Promise.all([
    findConversations(db, actor, events),
    findMessages(db, findFiles, accountId, events),
    findStatuses(db, { accountId, ids: idsOf(events, 'status') }),
    findNotes(db, accountId, events),
  ]);
  return events.flatMap(({ id, kind, chatId, messageId }) => {
    const data = {
      conversation: conversations.get(chatId),
      message: messages.get(messageId ?? ''),
      // A deleted note is shown as its id alone, so that views drop it.
      note: notes.get(messageId ?? '') ?? { chatId, id: messageId },
      status: statusOf(chatId, messageId, statuses.get(messageId ?? '')),
    }[kind];
    return data ? [{ id: String(id), event: kind, data }] : [];
  });
}

const statusOf = (chatId: string, messageId: string | null, deliveryStatus: string | undefined) =>
  deliveryStatus && { chatId, messageId, deliveryStatus };

const idsOf = (events: readonly InboxEvent[], kind: InboxEvent['kind']): string[] => [
  ...new Set(events.flatMap((event) => (event.kind === kind ? (event.messageId ?? []) : []))),
];

async function findConversations(db: Db, actor: Reader, events: readonly InboxEvent[]) {
  const { accountId } = actor;
  const chatIds = [...new Set(events.flatMap(({ kind, chatId }) => (kind === 'conversation' ? [chatId] : [])))];
  const rows = chatIds.length > 0 ? await listConversationsById(db, { accountId, chatIds }) : [];
  return new Map(rows.map((row) => [row.chatId, toConversationOut(row, actor)]));
}

async function findNotes(db: Db, accountId: number, events: readonly InboxEvent[]) {
  const keys = events.flatMap(({ kind, chatId, messageId: id }) => (kind === 'note' && id ? [{ chatId, id }] : []));
  const notes = keys.length > 0 ? await listNotesById(db, { accountId, keys }) : [];
  return new Map(notes.map((note) => [note.id, { chatId: note.chatId, ...toNoteOut(note) }]));
}

async function findMessages(db: Db, findFiles: FindFiles, accountId: number, events: readonly InboxEvent[]) {
  const wanted = new Map(events.flatMap((e) => (e.kind === 'message' && e.messageId ? [[e.messageId, e]] : [])));
  const keys = [...wanted].map(([id, { chatId }]) => ({ chatId, id }));
  if (keys.length === 0) return new Map();
  const messages = await listThreadMessages(db, { accountId, keys });
  const answers = await toMessagesOut(db, findFiles, { accountId, messages });
  return new Map(answers.map((answer) => [answer.id, { chatId: wanted.get(answer.id)?.chatId, ...answer }]));
}
