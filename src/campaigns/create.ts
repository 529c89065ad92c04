import { isDeepStrictEqual } from 'node:util';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { listFields } from '../contacts/fields.ts';
import { findBook } from '../contacts/limits.ts';
import { channelsOf } from '../contacts/read.ts';
import type { Actor } from '../core/actor.ts';
import { mapInSlices, nextTurn } from '../core/background.ts';
import { type Db, one, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { createMeter } from '../core/limits.ts';
import { fromMicros, seesAmounts } from '../core/money.ts';
import { DEFAULT_NUMBER_RULES, type NumberRules, type PhoneDetails, parsePhone, personOf } from '../core/phone.ts';
import { SECOND_MS } from '../core/time.ts';
import { findBilledTemplates, listPricesToMany } from '../messages/billing.ts';
import { type OptOutLinks, optOutFault } from '../messages/opt-out-links.ts';
import { settleFrozen } from '../money/credit.ts';
import { type ListedPrice } from '../money/pricing.ts';
import { listRoutedPrefixes } from '../routing/routes.ts';
import {
  type AudienceSize,
  chainOf,
  isCombined,
  listAudienceRows,
  type Plan,
  recipientsSql,
  sumAudience,
} from './audience.ts';
import {
  changeSettings,
  changesAudience,
  checkSettings,
  countAllRecipients,
  NO_PACE,
  type Pace,
  type ReadSettings,
  readNewSettings,
  refuseWithoutScope,
} from './campaign.ts';
import { confirmCampaign, takeBackConfirmation, updateJobDueNow } from './lifecycle.ts';
import { hasHours } from './hours.ts';
import { hasPricesOfGoal } from './price-change.ts';
import { loadRefusals } from './refusals.ts';
import { type ApplyIn, type CampaignIn, CampaignPatch } from './schema.ts';
import {
  CAMPAIGN,
  type CampaignEntry,
  type CampaignRow,
  claimCampaign,
  findCampaign,
  insertCampaign,
  listListVersions,
  type Numbers,
  type Settings,
  updateAudience,
  updateSettings,
  wakeCampaign,
} from './store.ts';
import { parseText } from './texts.ts';

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
  const settings = await checkNew(tx, actor, body, { now });
  const { id } = await insertCampaign(tx, { accountId, settings, numbers: await numbersOf(tx, accountId, settings) });
  const detail = { name: settings.name, sendingMode: settings.sendingMode, readyToSend: settings.readyToSend };
  await recordAudit(tx, actor, { action: 'campaign.create', subject: `campaign:${id}`, detail });
  return { id };
}

/** Checks a change as `updateCampaign` does. Errors: 400 naming every faulty field. */
export async function checkChange(db: Db, { accountId }: Pick<Author, 'accountId'>, change: Change): Promise<void> {
  const current = await findCampaign(db, { accountId, id: change.id });
  if (current) await checkedSettings(db, accountId, changeSettings(current, change.patch, change.now));
}

/** Checks a new campaign as `createCampaign` does. Errors: 400 naming every faulty field. */
export const checkNew = (
  db: Db,
  { accountId }: Pick<Author, 'accountId'>,
  body: CampaignIn,
  { now }: AtTime,
): Promise<Settings> => checkedSettings(db, accountId, readNewSettings(body, now));

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
async function changeCampaign(tx: Db, actor: Author, { id, patch, now }: Change): Promise<CampaignRow | null> {
  const { accountId } = actor;
  const current = await existing(claimCampaign(tx, { accountId, id }));
  if (current.status > CAMPAIGN.READY) throw notEditable(current.status);
  const settings = await checkedSettings(tx, accountId, changeSettings(current, patch, now));
  const numbers = await numbersOf(tx, accountId, settings);
  const confirmed =
    current.confirmedAt !== null &&
    staysConfirmed(current, settings) &&
    (isDeepStrictEqual(current.scheduledAt, settings.scheduledAt) ||
      (await hasPricesOfGoal(tx, { ...settings, accountId, id })));
  const takesBack = current.confirmedAt !== null && !confirmed;
  if (takesBack && !(await takeBackConfirmation(tx, actor, current))) throw notEditable(current.status);
  const change = { settings, numbers, changesAudience: changesAudience(current, settings), confirmed };
  if ((await updateSettings(tx, { accountId, id, ...change })) === 0) throw notEditable(current.status);
  if (confirmed) await wakeAgain(tx, { accountId, id });
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'campaign.update', subject: `campaign:${id}`, detail });
  return takesBack ? current : null;
}

/**
 * Settings by which a confirmed campaign has divided its recipients, or judged them: other quiet hours may begin only if it
 * had hours before.
 */
const DIVIDING = ['localTime', 'respectCalendar', 'weeklyCap', 'tlvs'] as const;

/** Returns true if a confirmation still holds: the same is sent to the same people, possibly at another time. */
const staysConfirmed = (before: CampaignRow, after: Settings): boolean =>
  !changesAudience(before, after) &&
  DIVIDING.every((key) => isDeepStrictEqual(before[key], after[key])) &&
  (hasHours(before) || after.quietHours === null || isDeepStrictEqual(before.quietHours, after.quietHours)) &&
  after.readyToSend &&
  after.scheduledAt !== null;

/** Wakes the workers for the campaign, which may have another date. */
async function wakeAgain(tx: Db, one: { accountId: number; id: number }): Promise<void> {
  await updateJobDueNow(tx, one);
  await wakeCampaign(tx, { campaignId: one.id });
}

/** Returns the credit that was reserved for a campaign whose confirmation was revoked. */
const returnReserved = (tx: Db, { id, reservedMicros: micros }: CampaignRow, accountId: number): Promise<void> =>
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

type Input = OptOutLinks & { readonly id: number; readonly change: ApplyIn; readonly now: Date };

/**
 * Changes a campaign that is scheduled, prices it and confirms it again, in the caller's transaction: afterwards it is
 * scheduled as it is now, or, if this throws, as it was. The start waits for the lock of the campaign, so it is sent
 * either as it was or as it is now. The credit is moved last: all traffic of the account shares its row. Errors: 400
 * naming the faults, also when the campaign is not scheduled, has started or would cost more than `maxPrice`; 403; 404.
 */
export async function applyChange(tx: Db, actor: Actor, { id, change, now, optOutLink }: Input): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const before = await existing(claimCampaign(tx, one));
  if (!before.confirmedAt) throw invalidFields([{ field: 'status', message: 'the campaign is not scheduled' }]);
  const { maxPrice, ...patch } = change;
  const takenBack = await changeCampaign(tx, actor, { id, patch: { ...patch, readyToSend: true }, now });
  if (!takenBack) return refuseWithoutScope(actor, (await findCampaign(tx, one)) ?? before);
  await calculateAudience(tx, actor, { id, optOutLink });
  await refuseDearer(tx, actor, { id, maxPrice });
  await returnReserved(tx, takenBack, actor.accountId);
  await confirmCampaign(tx, actor, { id, now });
}

async function refuseDearer(
  tx: Db,
  actor: Actor,
  { id, maxPrice }: { readonly id: number; readonly maxPrice: number | undefined },
): Promise<void> {
  const priced = await findCampaign(tx, { accountId: actor.accountId, id });
  if (!priced || maxPrice === undefined || fromMicros(priced.estimatedMicros) <= maxPrice) return;
  const now = seesAmounts(actor) ? `: it is ${fromMicros(priced.estimatedMicros)} ${priced.currency} now` : '';
  throw invalidFields([{ field: 'maxPrice', message: `is less than the maximum cost of the campaign${now}` }]);
}

const MAX_MINUTES = 10;

/**
 * Counts the recipients that a campaign would reach and their maximum cost, in one pass over its lists or numbers, and
 * stores them as its audience. Changes in the meantime are not blocked: they make it stale. Call it in a transaction.
 * Errors: 400 when the campaign is already confirmed, or has an opt-out link without a PUBLIC_URL; 404.
 */
export async function calculateAudience(
  tx: Db,
  actor: Author,
  { id, optOutLink }: { readonly id: number } & OptOutLinks,
): Promise<void> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const campaign = await existing(findCampaign(tx, { accountId, id }));
  if (campaign.confirmedAt) throw audienceIsFrozen();
  const faults = optOutFault('smsBody', campaign.smsBody, { optOutLink });
  if (faults.length > 0) throw invalidFields(faults);
  // Read before the pass, so that the pass sees these versions or newer ones.
  const versions = await listListVersions(tx, { accountId, ids: campaign.contactListIds });
  const plan = await loadPlan(tx, { accountId, campaign, optOutLink });
  const { estimatedMicros, ...sums } = sumAudience(
    await listAudienceRows(tx, plan),
    plan.mode,
    sizeOf(campaign, versions),
  );
  const templates = await findBilledTemplates(tx, { ...campaign, accountId });
  const overWeeklyCap = await countOverWeeklyCap(tx, plan, campaign);
  const whatsappCategory = plan.mode.includes('WHATSAPP') ? (templates.WHATSAPP?.category ?? null) : null;
  const audience = { ...sums, overWeeklyCap, prices: plan.prices, whatsappCategory };
  const listVersions = campaign.contactListIds.map((list) => versions.find((v) => v.id === list)?.version ?? 0);
  const counted = { audience, version: campaign.version, listVersions, estimatedMicros };
  if ((await updateAudience(tx, { accountId, id, ...counted })) === 0)
    throw (await findCampaign(tx, { accountId, id })) ? audienceIsFrozen() : new AppError('not_found');
  const detail = { total: audience.total, estimatedMicros };
  await recordAudit(tx, actor, { action: 'campaign.goal', subject: `campaign:${id}`, detail });
}

/**
 * Counts the recipients who have had as many marketing messages as the campaign or the account allows, in the seven days
 * before it is sent (null: now): they will be skipped, and cost nothing. None if it is not marketing.
 */
export async function countOverWeeklyCap(
  db: Db,
  plan: Plan,
  { weeklyCap, scheduledAt: at }: Pick<CampaignRow, 'weeklyCap' | 'scheduledAt'>,
): Promise<number> {
  if (plan.refusals.purpose !== 'marketing') return 0;
  const { count } = await one<{ count: number }>(
    db,
    sql`SELECT count(*)::int AS count FROM (${recipientsSql(plan, null)}) AS r
        JOIN marketing_week w ON w.account_id = ${plan.accountId} AND w.person = person_of(r.destination)
        JOIN account a ON a.id = ${plan.accountId}
        WHERE r.skip_reason IS NULL AND least(${weeklyCap}::smallint, a.weekly_cap) <= (
          SELECT count(*) FROM unnest(w.sent_at) AS sent
          WHERE sent > coalesce(${at}::timestamptz, now()) - interval '7 days')`,
  );
  return count;
}

const audienceIsFrozen = () =>
  invalidFields([{ field: 'status', message: 'the campaign is confirmed: its recipients and cost are fixed' }]);

function sizeOf(
  { destinationType, destinations, unreadable }: CampaignRow,
  lists: readonly { contactCount: number }[],
): AudienceSize {
  if (destinationType === 2) return { named: destinations.length, unreadable };
  return { named: lists.reduce((sum, { contactCount }) => sum + contactCount, 0), unreadable: 0 };
}

type Planned = Pick<
  CampaignRow,
  | 'id'
  | 'sendingMode'
  | 'destinationType'
  | 'contactListIds'
  | 'smsBody'
  | 'rcsTemplateId'
  | 'whatsappTemplateId'
  | 'whatsappPhoneNumberId'
> &
  Partial<Pick<CampaignRow, 'scheduledAt' | 'encoding' | 'purpose' | 'smsSender' | 'rcsAgentId' | 'rcsTrafficType'>>;

type PlanInput = OptOutLinks & {
  readonly accountId: number;
  readonly campaign: Planned;
  readonly prices?: readonly ListedPrice[];
};

/** Number of recipients that a step creates. It takes some 100 ms with these, so that a pause takes effect quickly. */
export const RECIPIENTS_PER_STEP = 5000;

/**
 * Loads the data that decides the recipients of a campaign. `prices` are those of its audience once it is confirmed; if
 * they are omitted, those that will be valid when it starts are used.
 */
export async function loadPlan(db: Db, { accountId, campaign, prices, optOutLink }: PlanInput): Promise<Plan> {
  const listIds = campaign.destinationType === 2 ? null : campaign.contactListIds;
  const fields = await listFields(db, { accountId });
  const hasSms = chainOf(campaign.sendingMode).includes('SMS');
  return {
    accountId,
    campaignId: campaign.id,
    mode: campaign.sendingMode,
    listIds,
    refusals: await loadRefusals(db, { accountId, campaign }),
    pieces: hasSms ? parseText(campaign.smsBody ?? '', fields).pieces : null,
    optOut: optOutLink?.({ accountId, phoneNumber: '' }),
    isSmart: campaign.encoding === 'smart' && campaign.purpose !== 'otp',
    walk: listIds !== null && (await isWalkShorter(db, accountId, listIds)),
    prices: prices ?? (await listPricesToMany(db, { ...campaign, accountId, at: campaign.scheduledAt ?? null })),
    routes: await listRoutedPrefixes(db, { accountId }),
  };
}

/**
 * Returns true if walking along all contacts once is less work than sorting the members of the lists again in each
 * step.
 */
async function isWalkShorter(db: Db, accountId: number, ids: readonly number[]): Promise<boolean> {
  const [book, lists] = [await findBook(db, { accountId }), await listListVersions(db, { accountId, ids })];
  const members = lists.reduce((sum, { contactCount }) => sum + contactCount, 0);
  return members * Math.ceil(members / RECIPIENTS_PER_STEP) > (book?.contacts ?? 0);
}

/**
 * Reads the numbers that a client sends. Returns the valid ones, each once, in byte order, with their countries and
 * channels. They are read as sends and contacts read them.
 */
export async function readNumbers(destinations: readonly string[], rules: NumberRules): Promise<Numbers> {
  const found = new Map<string, Pick<PhoneDetails, 'country'> & { channels: ReturnType<typeof channelsOf> }>();
  const persons = new Set<string>();
  let unreadable = 0;
  await mapInSlices(destinations, (text) => {
    const phone = parsePhone(text, rules);
    if (!phone?.isValid) return void unreadable++;
    const person = personOf(phone.e164);
    if (persons.has(person)) return;
    persons.add(person);
    found.set(phone.e164, { country: phone.country, channels: channelsOf(phone) });
  });
  // The plain sort takes 35 ms for 100,000 numbers, half the time of one with a function.
  const numbers = [...found.keys()].sort();
  await nextTurn();
  const countries = await mapInSlices(numbers, (number) => found.get(number)?.country ?? '');
  const channels = await mapInSlices(numbers, (number) => found.get(number)?.channels ?? 0);
  return { numbers, countries, channels, unreadable };
}

/** Lists the destinations that are not a valid number, as they were given. */
export async function listUnreadable(destinations: readonly string[], rules: NumberRules): Promise<string[]> {
  const wrong = await mapInSlices(destinations, (text) => (parsePhone(text, rules)?.isValid ? [] : [text]));
  return wrong.flat();
}

type Account = { readonly accountId: number };
export type FindPace = (account: Account, campaign: CampaignEntry, now: Date) => Pace;

/**
 * Creates a function that measures the pace of campaigns. Rates cover the last minute, if this process was asked within
 * it, and otherwise the time since the start of the campaign. In single modes, the remaining recipients are those whose
 * message no carrier has yet; in combined modes, whose chains may continue, those without a final result.
 */
export function createPaceMeter(): FindPace {
  const meter = createMeter();
  return ({ accountId }, campaign, now) => {
    const { id, status, startedAt, pausedAt, cancelledAt, handled, run } = campaign;
    if (status !== CAMPAIGN.SENDING || pausedAt || cancelledAt || !startedAt || !run) return NO_PACE;
    const counts = [handled, isCombined(campaign.sendingMode) ? run.ended : handled];
    const rates = meter.read(`${accountId}/${id}`, now, counts) ?? meansSince(startedAt, now, counts);
    const [rate = 0, advance = 0] = rates;
    const { totalRecipients, totalSkipped } = countAllRecipients(campaign);
    const left = Math.max(0, totalRecipients - totalSkipped - (counts[1] ?? 0));
    return { ratePerSecond: round(rate), estimatedSecondsLeft: advance > 0 ? Math.ceil(left / advance) : null };
  };
}

const meansSince = (start: Date, now: Date, counts: readonly number[]): number[] =>
  counts.map((count) => count / Math.max(1, (now.getTime() - start.getTime()) / SECOND_MS));

const round = (rate: number): number => Math.round(rate * 10) / 10;
