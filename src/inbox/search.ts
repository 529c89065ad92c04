import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { foldText } from '../core/fold.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { type FindFiles, toConversationOut, toMessagesOut } from './conversations.ts';
import { listConversationsById } from './listing.ts';
import { ConversationOut, MessageOut } from './schema.ts';
import { listThreadMessages } from './store.ts';

const SearchQuery = Type.Object({
  search: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'Words, of which each message must have all, in any order and case; the beginning of a word is enough.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
});

const FoundMessage = Type.Object({ message: MessageOut, conversation: ConversationOut });

export function searchRoutes(app: App, { pool, findFiles }: PlatformDeps & { readonly findFiles: FindFiles }): void {
  app.get('/api/partner-gateway/v1/inbox/messages', {
    onRequest: requireScope('inbox'),
    schema: {
      tags: ['Inbox'],
      operationId: 'searchInboxMessages',
      summary: 'Search the texts of all conversations',
      description: 'The newest messages with these words, each with its conversation, including archived ones.',
      querystring: SearchQuery,
      response: { 200: Type.Array(FoundMessage) },
    },
    handler: ({ actor, query }) => findMessages(tenant(pool, actor), findFiles, actor, query),
  });
}

type Input = { readonly search: string; readonly limit: number };

/**
 * Finds the newest messages with these words, each with its conversation. `db` has the rights of the actor's account.
 */
async function findMessages(
  db: Db,
  findFiles: FindFiles,
  actor: Actor,
  { search, limit }: Input,
): Promise<Static<typeof FoundMessage>[]> {
  const { accountId } = actor;
  const words = toWordQuery(search);
  const keys = words === null ? [] : await searchMessages(db, { accountId, words, limit });
  if (keys.length === 0) return [];
  const chatIds = [...new Set(keys.map(({ chatId }) => chatId))];
  const [rows, stored] = await Promise.all([
    listConversationsById(db, { accountId, chatIds }),
    listThreadMessages(db, { accountId, keys }),
  ]);
  const conversations = new Map(rows.map((row) => [row.chatId, toConversationOut(row, actor)]));
  const messages = await toMessagesOut(db, findFiles, { accountId, messages: stored });
  const byId = new Map(messages.map((message) => [message.id, message]));
  return keys.flatMap(({ chatId, id }) => {
    const [conversation, message] = [conversations.get(chatId), byId.get(id)];
    return conversation && message ? [{ message, conversation }] : [];
  });
}

/** Maximum number of words: more only make a search slower. */
const MAX_WORDS = 10;

/**
 * Builds the query for PostgreSQL: all words of the text, each as a prefix; null when it has no letter or digit.
 * `inbox_words` (db/migrations/0001_schema.sql) separates words in the same way.
 */
export function toWordQuery(search: string): string | null {
  const words = foldText(search).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.length === 0
    ? null
    : words
        .slice(0, MAX_WORDS)
        .map((word) => `'${word}':*`)
        .join(' & ');
}

const FOUND = columns({ chatId: as<string>('f.chat_id'), id: as<string>('f.id') });
type FoundKey = RowOf<typeof FOUND>;

/** Finds messages of the account of the caller (`tenant`) by a tsquery, the newest first. */
export const searchMessages = (
  db: Db,
  { words, limit }: { readonly accountId: number; readonly words: string; readonly limit: number },
): Promise<FoundKey[]> => many(db, sql`SELECT ${FOUND} FROM search_inbox_messages(${words}, ${limit}) AS f`);
