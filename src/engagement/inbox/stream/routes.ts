import { fastifySSE } from '@fastify/sse';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AccountAway, AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import type { Hub } from './hub.ts';
import type { FindFiles } from '../answer.ts';
import type { Presence, Sighting } from '../presence/presence.ts';
import { findEventBounds, type InboxEvent } from './sql.ts';
import { renderEvents, type StreamEvent } from './render.ts';

const HEARTBEAT_MS = 15_000;
/** Maximum number of streams of one account per process. */
const MAX_STREAMS = 200;
/**
 * Maximum number of events waiting for a client. A client that is further behind, or takes none between two heartbeats,
 * is disconnected; it reconnects and resumes.
 */
const MAX_WAITING = 2000;

type Deps = PlatformDeps & { readonly findFiles: FindFiles; readonly inboxHub: Hub; readonly presence: Presence };

/** Registers the route that streams the changes of an inbox. */
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
