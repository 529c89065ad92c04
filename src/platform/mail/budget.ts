import { createHmac } from 'node:crypto';
import type { Db } from '../db/query.ts';
import { DAILY_BUDGETS, type Plan } from '../lib/plan.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import { findPlan, takeMail } from './sql.ts';

/** What a mail is about. */
export type MailKind = 'reset' | 'invitation' | 'copy' | 'notice';

/** How many mails a recipient gets, over all accounts. Mails with another `name` are counted apart. */
type RecipientBudget = { readonly name: string; readonly perHour: number; readonly perDay: number };

/** Mails that others have sent: the recipient may be a stranger who asked for nothing. */
const FROM_OTHERS: RecipientBudget = { name: 'others', perHour: 3, perDay: 10 };
/** Links for a new password: nobody can use up these with other mails. */
const OWN_SECURITY: RecipientBudget = { name: 'reset', perHour: 3, perDay: 72 };
/** Copies of inbound messages, where the operator knows the customer: an inbox that is read by mail. */
const COPIES: RecipientBudget = { name: 'copies', perHour: 60, perDay: 500 };

/** Whether mails of a kind are about the recipient's own sign-in: they go first, and no account can use up their budget. */
export const isUrgent = (kind: MailKind): boolean => kind === 'reset';

/** Notices of a customer whom the operator knows are counted apart for each account: invitations of others take none of them. */
function recipientBudget({ kind, accountId }: Counted, plan: Plan): RecipientBudget {
  if (isUrgent(kind)) return OWN_SECURITY;
  if (plan === 'trial' || kind === 'invitation') return FROM_OTHERS;
  return kind === 'copy' ? COPIES : { ...FROM_OTHERS, name: `notice ${accountId}` };
}

/** A budget that has no room for a mail, and when it has. */
export type UsedUp = { readonly of: 'recipient' | 'account'; readonly retryAfterSeconds: number };

type Counted = { readonly accountId: number; readonly kind: MailKind; readonly to: string };

/**
 * Counts a mail against the budgets of its account and its recipient, whose rows stay locked until the transaction ends;
 * null if both had room. The account comes first: one whose own budget is used up cannot use up that of a recipient.
 */
export async function takeBudget(
  tx: Db,
  secretKey: SecretKey,
  mail: Counted,
): Promise<UsedUp | null> {
  const { accountId, kind, to } = mail;
  const plan = await findPlan(tx, { accountId });
  const subject = (text: string): Buffer =>
    createHmac('sha256', secretKey.bytes).update(`mail budget ${text}`).digest();
  const { mails } = DAILY_BUDGETS[plan];
  if (!isUrgent(kind) && mails !== null) {
    const account = { subject: subject(`account ${accountId}`), perHour: mails, perDay: mails };
    const retryAfterSeconds = await takeMail(tx, account);
    if (retryAfterSeconds > 0) return { of: 'account', retryAfterSeconds };
  }
  const { name, ...bounds } = recipientBudget(mail, plan);
  const retryAfterSeconds = await takeMail(tx, { subject: subject(`${name} ${mailboxOf(to)}`), ...bounds });
  return retryAfterSeconds > 0 ? { of: 'recipient', retryAfterSeconds } : null;
}

/** One mailbox under all spellings that commonly reach it: in any case, and with any tag (RFC 5233). */
function mailboxOf(address: string): string {
  const [local = '', domain = ''] = address.toLowerCase().split('@');
  return `${local.split('+')[0]}@${domain}`;
}
