import { type Static, Type } from 'typebox';
import { id, instant, orNull } from '../../platform/lib/schema.ts';
import { MAX_KEYWORD_LENGTH } from './match.ts';
import type { KeywordRule } from './sql.ts';

const NumberField = Type.String({
  pattern: String.raw`^\+?\d{1,20}$`,
  description: 'The number or short code that people write to.',
  'x-message': 'must be a number or a short code',
});
const Keyword = Type.String({
  minLength: 1,
  maxLength: MAX_KEYWORD_LENGTH,
  description:
    'The first word or words of the message, in any case; the longest keyword decides. `*`: every message without a ' +
    'keyword of its own.',
});
const Answer = orNull(
  Type.String({
    minLength: 1,
    maxLength: 1530,
    description: 'The SMS that is sent back from the number, at most 5 for each person in an hour.',
  }),
);
const ForwardTo = orNull(
  Type.String({
    minLength: 3,
    maxLength: 2048,
    description:
      'The target of a copy: a URL that begins with https:// (a POST with JSON, signed like an event of the webhook if the ' +
      'account has one, and repeated until the response is 2xx, for about two days), an email address (60 copies an hour, 3 on the plan trial), or a number in E.164 form (an SMS at your price).',
  }),
);

export const RuleIn = Type.Object({
  number: Type.Optional(orNull(NumberField)),
  keyword: Keyword,
  answer: Type.Optional(Answer),
  forwardTo: Type.Optional(ForwardTo),
});
export const RulePatch = Type.Partial(RuleIn);
export const RuleId = Type.Object({ id: id() });

export const RuleOut = Type.Object({
  id: Type.Integer(),
  number: orNull(Type.String({ description: 'Without a plus sign. Null: every number of the account.' })),
  keyword: Type.String(),
  answer: orNull(Type.String()),
  forwardTo: orNull(Type.String()),
  fault: orNull(Type.String({ description: 'Reason why the last reply or copy was not sent. Null: none failed.' })),
  faultAt: orNull(instant('UTC')),
  createdAt: instant('UTC'),
});

export const toRuleOut = (rule: KeywordRule): Static<typeof RuleOut> => ({
  id: rule.id,
  number: rule.number,
  keyword: rule.keyword,
  answer: rule.answer,
  forwardTo: rule.forwardTo,
  fault: rule.fault,
  faultAt: rule.faultAt?.toISOString() ?? null,
  createdAt: rule.createdAt.toISOString(),
});
