import { getMember, getText } from '../json.ts';
import type { Notice } from '../events.ts';

/** Fields about the account and its numbers, for the operator; the API itself rejects whatever they forbid. */
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set([
  'account_update',
  'account_alerts',
  'account_review_update',
  'business_capability_update',
  'phone_number_quality_update',
  'phone_number_name_update',
  'security',
]);

/** Events, decisions and severities that require the operator to act; `UNFLAGGED` and `UPGRADE` are not among them. */
const SERIOUS =
  /^(FLAGGED|DOWNGRADE|REJECTED|CRITICAL|DISABLED_UPDATE|ACCOUNT_(RESTRICTION|VIOLATION|DELETED|OFFBOARDED)|PARTNER_REMOVED)$/;

const MAX_LENGTH = 1000;

const shorten = (text: string, maxLength: number): string =>
  text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();

/**
 * Reads a change of the account or of one of its numbers; null for a field about something else. The text is that of
 * the network: `account_update: {"event":"ACCOUNT_RESTRICTION", …}`.
 */
export function readAccountChange(field: string, value: unknown): Notice | null {
  if (!ACCOUNT_FIELDS.has(field)) return null;
  const event = getText(value, 'event') || getText(value, 'decision') || getText(value, 'alert_severity');
  const about = getText(value, 'display_phone_number') || getText(value, 'alert_type');
  // Events of the account do not replace one another: a restriction is shown next to the review of something else.
  const kind = field === 'account_update' ? event : about;
  const isReinstated = getText(getMember(value, 'ban_info'), 'waba_ban_state') === 'REINSTATE';
  return {
    subject: shorten(`${field} ${kind}`.trim(), 200),
    text: shorten(`${field}: ${JSON.stringify(value ?? null)}`, MAX_LENGTH),
    serious: SERIOUS.test(event) && !isReinstated,
  };
}
