import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { findBook } from '../contacts/book/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { DEFAULT_NUMBER_RULES } from '../../platform/lib/phone/number-rules.ts';
import { settleFrozen } from '../../money/credit/charge.ts';
import { checkSettings } from './check.ts';
import { updateJobDueNow } from './lifecycle/sql.ts';
import { takeBackConfirmation } from './lifecycle/take-back.ts';
import { readNumbers } from './numbers.ts';
import { changeSettings, type ReadSettings, readNewSettings, changesGoal } from './settings.ts';
import { type CampaignIn, CampaignPatch } from './schema.ts';
import { type CampaignRow, claimCampaign, insertCampaign, updateSettings, type Settings, wakeCampaign } from './sql.ts';
import { CAMPAIGN } from './states.ts';

type AtTime = { readonly now: Date };

const FIELDS = Object.keys(CampaignPatch.properties).sort();

/**
 * Creates a campaign, as a draft or ready to send, and returns its id. Call it in a transaction. Errors: 400 naming
 * every faulty field.
 */
export async function createCampaign(
  tx: Db,
  actor: Author,
  body: CampaignIn,
  { now }: AtTime,
): Promise<{ id: number }> {
  const { accountId } = actor;
  const settings = await checkedSettings(tx, accountId, readNewSettings(body, now));
  const { id } = await insertCampaign(tx, { accountId, settings, numbers: await numbersOf(tx, accountId, settings) });
  const detail = { name: settings.name, sendingMode: settings.sendingMode, readyToSend: settings.readyToSend };
  await recordAudit(tx, actor, { action: 'campaign.create', subject: `campaign:${id}`, detail });
  return { id };
}

/**
 * Changes a campaign that has not started; omitted fields are unchanged. A confirmed one stays confirmed if the same is
 * still sent to the same people; otherwise its confirmation is revoked and its credit returned, and this returns true.
 * Call it in a transaction, last. Errors: 400 naming every faulty field, or the status when the campaign cannot be
 * edited any more; 404.
 */
export async function updateCampaign(tx: Db, actor: Author, change: Change): Promise<boolean> {
  const takenBack = await changeCampaign(tx, actor, change);
  if (takenBack) await returnReserved(tx, takenBack, actor.accountId);
  return takenBack !== null;
}

type Change = AtTime & { readonly id: number; readonly patch: CampaignPatch };

/**
 * Does the work of `updateCampaign` except returning the credit, which locks rows that all traffic of the account
 * needs. Returns the campaign as it was if its confirmation was revoked: the caller then calls `returnReserved`;
 * otherwise null.
 */
export async function changeCampaign(tx: Db, actor: Author, { id, patch, now }: Change): Promise<CampaignRow | null> {
  const { accountId } = actor;
  const current = await claimCampaign(tx, { accountId, id });
  if (!current) throw new AppError('not_found');
  if (current.status > CAMPAIGN.READY) throw notEditable(current.status);
  const settings = await checkedSettings(tx, accountId, changeSettings(current, patch, now));
  const numbers = await numbersOf(tx, accountId, settings);
  const confirmed = current.confirmedAt !== null && staysConfirmed(current, settings);
  const takesBack = current.confirmedAt !== null && !confirmed;
  if (takesBack && !(await takeBackConfirmation(tx, actor, current))) throw notEditable(current.status);
  const change = { settings, numbers, changesGoal: changesGoal(current, settings), confirmed };
  if ((await updateSettings(tx, { accountId, id, ...change })) === 0) throw notEditable(current.status);
  if (confirmed) await wakeAgain(tx, { accountId, id });
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'campaign.update', subject: `campaign:${id}`, detail });
  return takesBack ? current : null;
}

/** Returns true if a confirmation still holds: the same is sent to the same people, possibly at another time. */
const staysConfirmed = (before: Settings, after: Settings): boolean =>
  !changesGoal(before, after) && after.readyToSend && after.scheduledAt !== null;

/** Wakes the workers for the campaign, which may have another date. */
async function wakeAgain(tx: Db, one: { accountId: number; id: number }): Promise<void> {
  await updateJobDueNow(tx, one);
  await wakeCampaign(tx, { campaignId: one.id });
}

/** Returns the credit that was reserved for a campaign whose confirmation was revoked. */
export const returnReserved = (tx: Db, { id, reservedMicros: micros }: CampaignRow, accountId: number): Promise<void> =>
  settleFrozen(tx, { earned: [], returned: [{ accountId, micros }], reference: `campaign:${id}` });

const notEditable = (status: number): AppError =>
  invalidFields([{ field: 'status', message: `a campaign with status ${status} cannot be changed` }]);

async function checkedSettings(tx: Db, accountId: number, { settings, faults }: ReadSettings): Promise<Settings> {
  const all = [...faults, ...(await checkSettings(tx, { accountId, settings }))];
  if (all.length > 0) throw invalidFields(all);
  return settings;
}

async function numbersOf(tx: Db, accountId: number, { destinations }: Settings) {
  const book = destinations.length > 0 ? await findBook(tx, { accountId }) : undefined;
  return readNumbers(destinations, book ?? DEFAULT_NUMBER_RULES);
}
