import { type Static, Type } from 'typebox';
import { id } from '../../../../platform/lib/schema.ts';

export const CannedAnswerIn = Type.Object({
  shortcut: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$',
    'x-message': 'must be up to 40 letters, digits, - and _',
    description: 'The name after the slash that inserts it. It is stored in lower case.',
  }),
  text: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: String.raw`\S`,
    'x-message': 'must not be empty',
    description:
      'May contain `{{firstName}}`, `{{lastName}}`, `{{fullName}}` and `{{agent}}`, which the console fills in before the ' +
      'text is sent.',
  }),
});
export const CannedAnswerPatch = Type.Partial(CannedAnswerIn);
export const CannedAnswerId = Type.Object({ id: id() });
export const CannedAnswerOut = Type.Object({ id: Type.Integer(), shortcut: Type.String(), text: Type.String() });
export type CannedAnswerIn = Static<typeof CannedAnswerIn>;
