import type { Static } from 'typebox';
import type { Db } from '../../../platform/db/query.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { type FindFiles, toConversationOut, toMessagesOut } from '../answer.ts';
import { listConversationsById } from '../listing/sql.ts';
import { listThreadMessages } from '../thread/sql.ts';
import type { FoundMessage } from './schema.ts';
import { searchMessages } from './sql.ts';
import { toWordQuery } from './words.ts';

type Input = { readonly search: string; readonly limit: number };

/**
 * Finds the newest messages with these words, each with its conversation. `db` has the rights of the actor's account.
 */
export async function findMessages(
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
