import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { isTimeZone } from '../../../platform/lib/local-time.ts';
import { knownFieldsOf } from '../../../platform/lib/schema.ts';
import { findAssignableUser } from '../sql.ts';
import { InboxSettings } from './schema.ts';
import * as db from './sql.ts';

/** Replaces the settings of an inbox. Errors: 400 naming the invalid fields. */
export async function changeSettings(tx: Db, author: Author, settings: InboxSettings): Promise<InboxSettings> {
  const faults: FieldError[] = [
    ...(isTimeZone(settings.timeZone) ? [] : [{ field: 'timeZone', message: 'is not a time zone' }]),
    ...settings.openHours.flatMap(({ from, to }, at) =>
      from < to ? [] : [{ field: `openHours[${at}].to`, message: 'must be later than from' }],
    ),
    ...(settings.closedAnswer !== null && settings.openHours.length === 0
      ? [{ field: 'openHours', message: 'are required for an automatic answer' }]
      : []),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  const { assignment, closedAnswer, timeZone } = settings;
  const changed = knownFieldsOf(InboxSettings, settings);
  await db.insertSettings(tx, { ...changed, accountId: author.accountId });
  const detail = { assignment, answers: closedAnswer !== null, timeZone };
  await recordAudit(tx, author, { action: 'inbox-settings.change', subject: `account:${author.accountId}`, detail });
  return changed;
}

/**
 * Sets whether the caller gets new conversations by the rule. Errors: 403 unless the caller is a user of the account
 * who may reply.
 */
export async function setAvailable(tx: Db, actor: Actor, available: boolean): Promise<void> {
  const { accountId, userId, kind } = actor;
  if (kind !== 'user' || userId === null || !(await findAssignableUser(tx, { accountId, userId })))
    throw new AppError('forbidden', { message: 'Only users of the account who may reply can be available' });
  await db.insertAvailability(tx, { accountId, userId, available });
}
