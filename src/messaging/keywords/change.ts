import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../platform/errors.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import { findUrlFault } from '../webhooks/check-url.ts';
import { consentWordOf } from '../consent/words.ts';
import { ANY_KEYWORD, MAX_KEYWORD_LENGTH, plainText } from './match.ts';
import * as db from './sql.ts';
import { kindOfTarget } from './target.ts';

/** Capabilities of this installation for copies. */
export type KeywordContext = {
  readonly guard: Guard;
  /** True if there is a mail server. */
  readonly sendsMail: boolean;
};

export type RuleInput = {
  readonly number: string | null;
  readonly keyword: string;
  readonly answer: string | null;
  readonly forwardTo: string | null;
};

const MAX_RULES = 1000;

/**
 * Adds a rule. Call it in a transaction. Errors: 400 naming the invalid fields, 409 for a number and keyword that have
 * one.
 */
export async function addRule(
  tx: Db,
  author: Author,
  { context, ...input }: RuleInput & { readonly context: KeywordContext },
): Promise<db.KeywordRule> {
  const { accountId } = author;
  const rule = { accountId, ...(await checked(input, context)) };
  if ((await db.countRules(tx, { accountId })) >= MAX_RULES)
    throw new AppError('conflict', { message: `An account may have at most ${MAX_RULES} rules` });
  const made = await db.insertRule(tx, rule);
  if (!made) throw taken();
  await record(tx, author, 'keyword-rule.add', made);
  return made;
}

/** Changes a rule; omitted fields are unchanged. Errors: as `addRule`, and 404 for an unknown or foreign id. */
export async function changeRule(
  tx: Db,
  author: Author,
  { id, context, ...changes }: Partial<RuleInput> & { readonly id: number; readonly context: KeywordContext },
): Promise<db.KeywordRule> {
  const { accountId } = author;
  const before = await db.lockRule(tx, { accountId, id });
  if (!before) throw new AppError('not_found');
  const { number, keyword, answer, forwardTo } = { ...before, ...changes };
  const rule = await checked({ number, keyword, answer, forwardTo }, context);
  const made = await db.updateRule(tx, { accountId, id, ...rule }).catch(explainTaken);
  await record(tx, author, 'keyword-rule.change', made);
  return made;
}

/** Deletes a rule. Errors: 404 for an unknown or foreign id. */
export async function removeRule(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const gone = await db.deleteRule(tx, { accountId: author.accountId, id });
  if (!gone) throw new AppError('not_found');
  await record(tx, author, 'keyword-rule.remove', gone);
}

const taken = (): AppError =>
  new AppError('conflict', { message: 'A rule for this number and keyword already exists' });

const explainTaken = (cause: unknown): never => {
  throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? taken() : cause;
};

async function checked({ number, keyword, answer, forwardTo }: RuleInput, context: KeywordContext): Promise<RuleInput> {
  const rule = {
    number: number === null ? null : number.replace(/^\+/, ''),
    keyword: plainText(keyword),
    answer,
    forwardTo,
  };
  const targetFault = forwardTo === null ? null : await findTargetFault(forwardTo, context);
  const faults: FieldError[] = [
    ...(rule.keyword === '' ? [{ field: 'keyword', message: 'must not be empty' }] : []),
    // A letter may become two in lower case.
    ...(Array.from(rule.keyword).length > MAX_KEYWORD_LENGTH
      ? [{ field: 'keyword', message: `must have at most ${MAX_KEYWORD_LENGTH} characters in lower case` }]
      : []),
    ...(rule.keyword !== ANY_KEYWORD && consentWordOf(rule.keyword) === 'stop'
      ? [{ field: 'keyword', message: 'is an opt-out word: it never gets a reply' }]
      : []),
    ...(answer === null && forwardTo === null ? [{ field: 'answer', message: 'is required, or forwardTo' }] : []),
    ...(targetFault === null ? [] : [{ field: 'forwardTo', message: targetFault }]),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  return rule;
}

async function findTargetFault(target: string, { guard, sendsMail }: KeywordContext): Promise<string | null> {
  const kind = kindOfTarget(target);
  if (kind === 'sms') return null;
  if (kind === 'mail') return sendsMail ? null : 'cannot be an email address: this gateway has no mail server';
  return target.startsWith('https:')
    ? findUrlFault(guard, target)
    : 'must be a URL that begins with https://, an email address, or a number in E.164 form';
}

/** Records a change in the audit log, which names the rule, not its texts. */
async function record(tx: Db, author: Author, action: string, rule: db.KeywordRule): Promise<void> {
  const { id, number, keyword, answer, forwardTo } = rule;
  const detail = { number, keyword, answers: answer !== null, forwards: forwardTo && kindOfTarget(forwardTo) };
  await recordAudit(tx, author, { action, subject: `keyword-rule:${id}`, detail });
}
