import { fastifySSE } from '@fastify/sse';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import type { Hub } from './hub.ts';
import type { FindFiles } from '../answer.ts';
import { findEventBounds, type InboxEvent } from './sql.ts';
import { renderEvents, type StreamEvent } from './render.ts';

const HEARTBEAT_MS = 15_000;
/** At this process, for each account. */
const MAX_STREAMS = 200;
/** Who is so far behind is cut off: they come back, and go on where they were. */
const MAX_WAITING = 2000;

type Deps = PlatformDeps & { readonly findFiles: FindFiles; readonly inboxHub: Hub };

/** Contract 9: the inbox as it changes. */
export function streamRoutes(app: App, path: string, deps: Deps): void {
  app.register(async (scope: App) => {
    await scope.register(fastifySSE, { heartbeatInterval: HEARTBEAT_MS });
    const streams: Streams = { ends: new Set(), closing: false };
    // A server that closes waits for its answers, and these end by themselves never.
    scope.addHook('preClose', (done) => {
      streams.closing = true;
      for (const end of streams.ends) end();
      done();
    });
    scope.get(`${path}/stream`, {
      onRequest: requireScope('inbox'),
      // The form of what is refused is ours.
      sse: 'manual',
      schema: {
        tags: ['Inbox'],
        operationId: 'streamInbox',
        summary: 'The inbox as it changes: server-sent events',
        description:
          '`message` (a message with its chatId), `status` (chatId, messageId, deliveryStatus), `conversation`; `ready` at ' +
          'the beginning. With `Last-Event-ID` it goes on behind that event, at any process; `reload` says that this is ' +
          'longer ago than events are kept (a day). A request whose Accept does not name text/event-stream gets what was ' +
          'missed, and ends. Credentials are looked at again every 15 seconds.',
        response: {
          200: { description: 'text/event-stream', content: { 'text/event-stream': { schema: Type.String() } } },
        },
      },
      handler: (request, reply) => stream(deps, streams, request, reply),
    });
  });
}

/** Browsers and clients of such streams say so; whoever takes anything would wait for an end that never comes. */
const isFollowing = ({ headers }: FastifyRequest): boolean => /text\/event-stream/i.test(headers.accept ?? '');

type Streams = { readonly ends: Set<() => void>; closing: boolean };

async function stream(deps: Deps, streams: Streams, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { inboxHub: hub, pool, findFiles } = deps;
  const { accountId } = request.actor;
  if (hub.count(accountId) >= MAX_STREAMS)
    throw new AppError('rate_limited', { message: 'Too many streams of this account', retryAfterSeconds: 10 });
  const db = tenant(pool, request.actor);
  const { after, lost } = startingPoint(reply.sse.lastEventId, await findEventBounds(db, { accountId }));
  const sender = createSender(reply, (events) => renderEvents(db, findFiles, { accountId, events }));
  const follows = isFollowing(request) && !streams.closing;
  // Before the first octet: whoever has that may expect the rest.
  const leave = follows ? keepOpen(deps, streams, request, reply) : [];
  sender.say({ id: String(after), event: lost ? 'reload' : 'ready', data: {} });
  const off = await hub.listen(accountId, after, sender.tell).catch((error: unknown) => {
    reply.raw.destroy();
    throw error;
  });
  if (follows && reply.sse.isConnected) leave.push(off);
  else off();
  if (!follows) await sender.end();
}

/** Until the client goes, the server closes or the credentials do; what is put into the list is called then. */
function keepOpen(deps: Deps, { ends }: Streams, request: FastifyRequest, reply: FastifyReply): (() => void)[] {
  const end = (): void => reply.sse.close();
  const recheck = async (): Promise<void> =>
    (await isStillAllowed(deps, request)) ? deps.inboxHub.wake(request.actor.accountId) : end();
  const check = setInterval(() => void recheck(), HEARTBEAT_MS);
  const leave = [() => clearInterval(check), () => void ends.delete(end)];
  reply.sse.keepAlive();
  ends.add(end);
  reply.sse.onClose(() => {
    for (const each of leave) each();
  });
  return leave;
}

/** A key that was revoked since, a person who was removed or an operator who has left the account sees no more. Being over the limit is no such thing. */
const isStillAllowed = ({ authenticate }: Deps, request: FastifyRequest): Promise<boolean> =>
  authenticate(request).then(
    ({ actor }) => actor.operations.has('inbox') && actor.accountId === request.actor.accountId,
    (error: unknown) =>
      !(error instanceof AppError && (error.code === 'unauthenticated' || error.code === 'forbidden')),
  );

const EVENT_ID = /^\d{1,15}$/;

/** An id that never was (another database) counts as one that is no longer kept. */
function startingPoint(lastEventId: string | null, { newest, oldest }: { newest: number; oldest: number }) {
  if (lastEventId === null || !EVENT_ID.test(lastEventId)) return { after: newest, lost: false };
  const asked = Number(lastEventId);
  const lost = asked > newest || asked < oldest - 1;
  return { after: lost ? newest : asked, lost };
}

/** Writes events one after the other, as fast as the client takes them. */
function createSender(reply: FastifyReply, show: (events: readonly InboxEvent[]) => Promise<StreamEvent[]>) {
  let chain = Promise.resolve();
  let waiting = 0;
  const write = async (events: readonly StreamEvent[]): Promise<void> => {
    for (const event of events) if (reply.sse.isConnected) await reply.sse.send(event);
  };
  const later = (count: number, work: () => Promise<void>): void => {
    waiting += count;
    if (waiting > MAX_WAITING) return void reply.raw.destroy();
    chain = chain
      .then(work)
      .catch((err: unknown) => {
        reply.log.warn({ err }, 'a stream of the inbox ends');
        reply.raw.destroy();
      })
      .finally(() => (waiting -= count));
  };
  return {
    say: (event: StreamEvent): void => later(1, () => write([event])),
    tell: (events: readonly InboxEvent[]): void => later(events.length, async () => write(await show(events))),
    end: (): Promise<void> => chain,
  };
}
