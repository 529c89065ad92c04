import { Type } from 'typebox';
import { ConversationOut, MessageOut } from '../schema.ts';

export const SearchQuery = Type.Object({
  search: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'Words, of which each message must have all, in any order and case; the beginning of a word is enough.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
});

export const FoundMessage = Type.Object({ message: MessageOut, conversation: ConversationOut });
