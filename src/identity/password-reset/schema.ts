import { Type } from 'typebox';
import { language } from '../mail-text.ts';

export const ResetRequestIn = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200, description: 'The username, which is the email address.' }),
  language: Type.Optional(language()),
});

export const ResetIn = Type.Object({
  token: Type.String({ maxLength: 100, description: 'The part of the link behind the sign #.' }),
  password: Type.String({
    minLength: 12,
    maxLength: 200,
    description: 'At least 12 characters, and not the username.',
  }),
});

export const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';
