import type { Static } from 'typebox';
import { countParts } from '../../../carriers/smpp/text.ts';
import type { Db } from '../../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import { findUsableSender } from '../../../network/senders/sql.ts';
import { findBodyErrors } from '../../../network/templates/rcs-body.ts';
import { REFUSALS } from '../draft.ts';
import type { Hop } from '../../messages/fallback/hop.ts';
import { DEFAULT_AFTER_SECONDS } from '../../messages/fallback/rule.ts';
import type { Fallback } from '../fallback-schema.ts';
import { MAX_PARTS } from '../prepare.ts';
import { composeRcs } from './content.ts';
import type { FallbackRcs, FallbackSms } from './schema.ts';

/** The fallbacks requested with a send. */
export type FallbackInput = {
  readonly fallbackRcs?: FallbackRcs | undefined;
  readonly fallbackSms?: FallbackSms | undefined;
  readonly fallback?: Static<typeof Fallback> | undefined;
};

/** Returns the errors in the fallbacks that their schema cannot find. */
export function fallbackFaults({ fallbackRcs, fallbackSms }: FallbackInput): FieldError[] {
  return [...(fallbackRcs ? rcsFaults(fallbackRcs, fallbackSms) : []), ...(fallbackSms ? smsFaults(fallbackSms) : [])];
}

function rcsFaults({ templateId, body }: FallbackRcs, fallbackSms: FallbackSms | undefined): FieldError[] {
  return [
    ...(fallbackSms ? [] : [{ field: 'fallbackSms', message: 'is required with fallbackRcs' }]),
    ...onlyOne('fallbackRcs.templateId', templateId, 'fallbackRcs.body', body),
    ...(body ? findBodyErrors(body, 'fallbackRcs.body') : []),
  ];
}

function smsFaults({ body }: FallbackSms): FieldError[] {
  const field = 'fallbackSms.body';
  if (body.includes('\0')) return [{ field, message: REFUSALS.bad_body }];
  return countParts(body).parts > MAX_PARTS ? [{ field, message: REFUSALS.body_too_long }] : [];
}

/** Returns the errors of two fields of which exactly one must be given. */
export function onlyOne(one: string, a: unknown, other: string, b: unknown): FieldError[] {
  if ((a === undefined) !== (b === undefined)) return [];
  return [one, other].map((field) => ({ field, message: `exactly one of ${one} and ${other} is required` }));
}

/**
 * Reads the messages that follow a send on the channel `first`, with the same checks as the send itself. Errors: 400;
 * an agent or a template of another account is reported as unknown.
 */
export async function readHops(
  db: Db,
  account: { readonly accountId: number },
  { fallbackRcs, fallbackSms, fallback = {} }: FallbackInput,
  first: 'WHATSAPP' | 'RCS',
): Promise<Hop[]> {
  const after: Readonly<Record<string, number | undefined>> = fallback.after ?? {};
  const when = (before: string) => ({
    afterSeconds: after[before] ?? DEFAULT_AFTER_SECONDS[before] ?? 0,
    maxWaitSeconds: fallback.maxWait ?? null,
    onStatus: fallback.onStatus ?? null,
  });
  const hops: Hop[] = [];
  if (fallbackRcs) hops.push({ ...(await readRcs(db, account, fallbackRcs)), ...when(first) });
  if (fallbackSms) {
    const { sender = '', body } = fallbackSms;
    hops.push({ channel: 'SMS', sender, body, content: null, ...when(fallbackRcs ? 'RCS' : first) });
  }
  return hops;
}

async function readRcs(db: Db, account: { readonly accountId: number }, input: FallbackRcs) {
  const sender = bareAgentId(input.agentId);
  if (!(await findUsableSender(db, { ...account, channel: 'RCS', identity: sender })))
    throw invalidFields([{ field: 'fallbackRcs.agentId', message: 'the account has no such agent' }]);
  return { channel: 'RCS', sender, ...(await composeRcs(db, account, input, 'fallbackRcs.')) } as const;
}
