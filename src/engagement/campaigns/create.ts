import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { findBook } from '../contacts/book/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { checkSettings } from './check.ts';
import { readNumbers } from './numbers.ts';
import { changeSettings, type ReadSettings, readNewSettings, changesGoal } from './settings.ts';
import { type CampaignIn, CampaignPatch } from './schema.ts';
import { claimCampaign, insertCampaign, updateSettings, type Settings } from './sql.ts';
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
 * Changes a campaign that is not confirmed; fields that are left out stay. Call it in a transaction.
 * Errors: 400 naming every faulty field, or the status when the campaign cannot be edited any more; 404.
 */
export async function updateCampaign(
  tx: Db,
  actor: Author,
  { id, patch, now }: AtTime & { id: number; patch: CampaignPatch },
): Promise<void> {
  const { accountId } = actor;
  const current = await claimCampaign(tx, { accountId, id });
  if (!current) throw new AppError('not_found');
  if (current.confirmedAt) throw notEditable(current.status);
  const settings = await checkedSettings(tx, accountId, changeSettings(current, patch, now));
  const numbers = await numbersOf(tx, accountId, settings);
  const moved = await updateSettings(tx, {
    accountId,
    id,
    settings,
    numbers,
    changesGoal: changesGoal(current, settings),
  });
  if (moved === 0) throw notEditable(current.status);
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'campaign.update', subject: `campaign:${id}`, detail });
}

const notEditable = (status: number) =>
  invalidFields([
    {
      field: 'status',
      message:
        status === CAMPAIGN.READY
          ? 'the campaign is confirmed: it can be deleted before its time, but not changed'
          : `a campaign with status ${status} cannot be changed`,
    },
  ]);

async function checkedSettings(tx: Db, accountId: number, { settings, faults }: ReadSettings): Promise<Settings> {
  const all = [...faults, ...(await checkSettings(tx, { accountId, settings }))];
  if (all.length > 0) throw invalidFields(all);
  return settings;
}

async function numbersOf(tx: Db, accountId: number, { destinations }: Settings) {
  const book = destinations.length > 0 ? await findBook(tx, { accountId }) : undefined;
  return readNumbers(destinations, book?.defaultCountry ?? null);
}
