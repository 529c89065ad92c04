import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const FOUND = columns({ chatId: as<string>('f.chat_id'), id: as<string>('f.id') });
/** The key of a message that was found. */
export type FoundKey = RowOf<typeof FOUND>;

/** Finds messages of the account of the caller (`tenant`) by a tsquery, the newest first. */
export const searchMessages = (
  db: Db,
  { words, limit }: { readonly accountId: number; readonly words: string; readonly limit: number },
): Promise<FoundKey[]> => many(db, sql`SELECT ${FOUND} FROM search_inbox_messages(${words}, ${limit}) AS f`);
