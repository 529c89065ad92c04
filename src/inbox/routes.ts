import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import {
  type App,
  offsetOf,
  PageOf,
  PageQuery,
  type PlatformDeps,
  pageFields,
  pageOf,
  withExamples,
} from '../core/http/app.ts';
import { assertScope, requireScope } from '../core/http/auth.ts';
import { idempotentHandler, idempotentTx, type PendingAnswer } from '../core/http/idempotency.ts';
import { parseInstant } from '../core/time.ts';
import type { Accept } from '../messages/accept.ts';
import { cannedAnswerRoutes } from './canned-answers.ts';
import {
  assign,
  markRead,
  markUnread,
  setArchived,
  snooze,
  toConversationOut,
  toMessagesOut,
} from './conversations.ts';
import { labelRoutes } from './labels.ts';
import { countConversations, findConversation, listConversations } from './listing.ts';
import { noteRoutes } from './notes.ts';
import { type Presence, presenceRoutes } from './presence.ts';
import { createFileLookup, type ReplyAnswerStore, reply } from './reply.ts';
import { ruleRoutes } from './rules.ts';
import * as schema from './schema.ts';
import { readFilter, readOrder } from './schema.ts';
import { searchRoutes } from './search.ts';
import { countAssignableUsers, findEndpoints, listAssignableUsers, listThread } from './store.ts';
import { type Hub, streamRoutes } from './stream.ts';
import { tickRoutes } from './ticks.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';
const tags = ['Inbox'];
const ConversationQuery = Type.Object({ ...pageFields, ...schema.conversationFields });
const Done = Type.Null({ description: 'Done, or nothing had to be changed' });

export type InboxRouteDeps = PlatformDeps & {
  readonly accept: Accept;
  /** Notifies open streams of changes. */
  readonly inboxHub: Hub;
  /** Notifies open streams of users viewing conversations. */
  readonly presence: Presence;
};

/** Registers the routes of conversations, their messages, and the stream of changes. */
export function inboxRoutes(app: App, deps: InboxRouteDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('inbox');
  const files = createFileLookup(deps);

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listConversations',
      summary: 'List conversations',
      description:
        'By default, the one with the newest message comes first. `search` also needs the scope `contacts` (403).',
      querystring: ConversationQuery,
      response: { 200: PageOf(schema.ConversationOut) },
    },
    handler: async (request) => {
      const { actor, query } = request;
      // It also searches the names and addresses of contacts.
      if (query.search !== undefined) assertScope(request, 'contacts');
      const db = tenant(pool, actor);
      const filter = readFilter(actor.accountId, query);
      const page = { filter, order: readOrder(query.orderBy), limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listConversations(db, page), countConversations(db, page)]);
      return pageOf(
        query,
        rows.map((row) => toConversationOut(row, actor)),
        total,
      );
    },
  });

  labelRoutes(app, deps);
  presenceRoutes(app, deps);
  ruleRoutes(app, deps);
  searchRoutes(app, { ...deps, findFiles: files.findMany });
  noteRoutes(app, deps);
  tickRoutes(app, PATH, deps);
  cannedAnswerRoutes(app, deps);
  streamRoutes(app, PATH, { ...deps, findFiles: files.findMany });

  app.get(`${PATH}/assignable-users`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listAssignableUsers',
      summary: 'List the users to whom conversations can be assigned',
      description: 'Sorted by name.',
      querystring: PageQuery,
      response: { 200: PageOf(schema.AssignableOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const { accountId } = actor;
      const page = { accountId, limit: query.limit, offset: offsetOf(query) };
      return pageOf(query, await listAssignableUsers(db, page), await countAssignableUsers(db, { accountId }));
    },
  });

  app.post(`${PATH}/reply`, {
    onRequest,
    schema: {
      tags,
      operationId: 'replyInConversation',
      summary: 'Reply in a conversation, or start one',
      description:
        'The message is sent on the channel of the conversation, from the number to which the person wrote. A free-form ' +
        'WhatsApp message to a person who has not written for 24 hours is accepted and ends as CONVERSATION_CLOSED; a ' +
        'template reaches them. If the message is rejected immediately (opted out, no credit), the response is 400.',
      body: withExamples(schema.ReplyIn, {
        channel: 'SMS',
        destination: '+61491570156',
        channelIdentity: 'ACME',
        text: 'It arrives today',
      }),
      response: { 202: schema.SentOut },
    },
    handler: idempotentHandler(deps, ({ actor, body }, answer, pendingAnswer) => {
      answer.code(202);
      return reply({ ...deps, findFile: files.find }, actor, body, pendingAnswer && toAnswerStore(deps, pendingAnswer));
    }),
  });

  app.get(`${PATH}/:chatId`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findConversation',
      summary: 'Get a conversation',
      params: schema.ChatId,
      response: { 200: schema.ConversationOut },
    },
    handler: async ({ actor, params }) => {
      const key = { accountId: actor.accountId, chatId: params.chatId };
      const row = await existing(findConversation(tenant(pool, actor), key));
      return toConversationOut(row, actor);
    },
  });

  app.get(`${PATH}/:chatId/messages`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listConversationMessages',
      summary: 'List the messages of a conversation',
      description:
        'The oldest first. Without parameters, the newest messages; otherwise from `idFrom` on, or up to `idTo`, both ' +
        'included.',
      params: schema.ChatId,
      querystring: schema.ThreadQuery,
      response: { 200: Type.Array(schema.MessageOut) },
    },
    handler: async ({ actor, params, query }) => {
      const db = tenant(pool, actor);
      const key = { accountId: actor.accountId, chatId: params.chatId };
      const messages = await listThread(db, { ...query, ...key });
      if (messages.length === 0 && !(await findEndpoints(db, key))) throw new AppError('not_found');
      return toMessagesOut(db, files.findMany, { ...key, messages });
    },
  });

  app.patch(`${PATH}/:chatId/read`, {
    onRequest,
    schema: {
      tags,
      params: schema.ChatId,
      response: { 204: Done },
      operationId: 'readConversation',
      summary: 'Mark a conversation as read',
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => markRead(tx, actor, params.chatId)),
  });

  app.patch(`${PATH}/:chatId/unread`, {
    onRequest,
    schema: {
      tags,
      params: schema.ChatId,
      response: { 204: Done },
      operationId: 'unreadConversation',
      summary: 'Mark a conversation as unread',
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => markUnread(tx, actor, params.chatId)),
  });

  app.put(`${PATH}/:chatId/snooze`, {
    onRequest,
    schema: {
      tags,
      operationId: 'snoozeConversation',
      summary: 'Snooze a conversation',
      description:
        'Archives it until a time, at which it returns to the list as unread. If the person writes earlier, it returns ' +
        'then. Unarchiving ends it.',
      params: schema.ChatId,
      body: withExamples(schema.SnoozeIn, { until: '2027-09-01T07:00:00Z' }),
      response: { 204: Done },
    },
    handler: async ({ actor, params, body }) => {
      const input = { until: parseInstant(body.until), now: deps.clock.now() };
      await tenantTransaction(pool, actor, (tx) => snooze(tx, actor, params.chatId, input));
    },
  });

  for (const [verb, archived] of [
    ['archive', true],
    ['unarchive', false],
  ] as const)
    app.patch(`${PATH}/:chatId/${verb}`, {
      onRequest,
      schema: {
        tags,
        params: schema.ChatId,
        response: { 204: Done },
        operationId: `${verb}Conversation`,
        summary: archived ? 'Archive a conversation' : 'Unarchive a conversation',
        ...(archived && { description: 'It returns to the list when the person writes again.' }),
      },
      handler: ({ actor, params }) =>
        tenantTransaction(pool, actor, (tx) => setArchived(tx, actor, params.chatId, archived)),
    });

  app.post(`${PATH}/:chatId/assignee`, {
    onRequest,
    schema: {
      tags,
      operationId: 'assignConversation',
      summary: 'Assign a conversation to a user',
      description: 'Replaces the previous assignee.',
      params: schema.ChatId,
      body: withExamples(schema.AssigneeIn, { userId: 1 }),
      response: { 204: Done },
    },
    handler: idempotentTx(deps, 204, async ({ actor, params, body }, tx) => {
      await assign(tx, actor, params.chatId, body.userId);
      return null;
    }),
  });

  app.delete(`${PATH}/:chatId/assignee`, {
    onRequest,
    schema: {
      tags,
      params: schema.ChatId,
      response: { 204: Done },
      operationId: 'unassignConversation',
      summary: 'Remove the assignee of a conversation',
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => assign(tx, actor, params.chatId, null)),
  });
}

const toAnswerStore = ({ answers }: Pick<PlatformDeps, 'answers'>, pendingAnswer: PendingAnswer): ReplyAnswerStore => ({
  claim: (tx) => answers.claim(tx, pendingAnswer),
  store: (tx, answer) => answers.store(tx, pendingAnswer.seal(answer)),
});
