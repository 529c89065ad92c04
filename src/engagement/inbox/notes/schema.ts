import { type Static, Type } from 'typebox';
import { instant, orNull } from '../../../platform/lib/schema.ts';

export const NoteIn = Type.Object({
  text: Type.String({ minLength: 1, maxLength: 4096, pattern: String.raw`\S`, 'x-message': 'must not be empty' }),
});
export const NoteOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  text: Type.String(),
  author: Type.Object({
    userId: orNull(Type.Integer({ description: 'Null: an operator, or an API key that no user made.' })),
    name: Type.String({ description: 'The name at the time of the note.' }),
  }),
  timestamp: instant('UTC'),
});
export type NoteOut = Static<typeof NoteOut>;
export const NoteKey = Type.Object({ chatId: Type.String({ format: 'uuid' }), id: Type.String({ format: 'uuid' }) });
