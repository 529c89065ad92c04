import type { Pool } from 'pg';
import { type Author, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { isRoutedBySender, type RichChannel } from '../core/channels.ts';
import { type Db, exec, many, plainArray, type Sql, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes, transaction } from '../core/db/transaction.ts';
import { AppError, existing, type FieldError, invalidFields } from '../core/errors.ts';
import { fromMicros, seesAmounts } from '../core/money.ts';
import { WAKE_CHANNEL } from '../dispatch/pump.ts';
import { listCampaignConnections, moveChunksFromParked, moveChunksToParked } from '../dispatch/store.ts';
import { CAMPAIGNS_CHANNEL } from '../messages/events.ts';
import { freeze, isShortage, settleFrozen } from '../money/credit.ts';
import { listRoutedPrefixes } from '../routing/routes.ts';
import type { TemplateKey } from '../templates/sync.ts';
import { checkSettings, checkTemplates, refuseWithoutScope } from './campaign.ts';
import { deleteDraftOf } from './drafts.ts';
import { endAudiencesOfOtherCategory, hasPricesOfGoal } from './price-change.ts';
import { deleteRecipients, deleteRun, listTemplateFaults } from './end.ts';
import { moveToDiscarded, publishState } from './run.ts';
import {
  CAMPAIGN,
  type CampaignRow,
  claimCampaign,
  claimListsForShare,
  findCampaign,
  statusAllows,
  wakeCampaign,
} from './store.ts';

type AtTime = { readonly now: Date };

/**
 * Confirms a campaign, which cannot be undone: freezes its price and notifies the workers, in the caller's transaction.
 * Of several confirmations only one succeeds. The lists for which the price was calculated cannot change until the
 * transaction ends. Errors: 400 with every unmet precondition, 403 without the scopes of its channels, 404.
 */
export async function confirmCampaign(tx: Db, actor: Actor, { id, now }: AtTime & { id: number }): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const claimed = await existing(claimCampaign(tx, one));
  await claimListsForShare(tx, { ...one, ids: claimed.contactListIds });
  const campaign = await existing(findCampaign(tx, one));
  refuseWithoutScope(actor, campaign);
  const faults = await unmetPreconditions(tx, actor, campaign, now);
  if (faults.length > 0) throw invalidFields(faults);
  await moveAndFreeze(tx, actor, campaign);
}

/** Confirms and freezes. The credit comes last: all traffic of the account shares its row. */
async function moveAndFreeze(tx: Db, actor: Actor, campaign: CampaignRow): Promise<void> {
  const { accountId, keyId, userId } = actor;
  const { id, version, estimatedMicros, audience } = campaign;
  const by = { keyId, userId: keyId === null ? userId : null };
  const confirmed = await moveToConfirmed(tx, { accountId, id, version, reservedMicros: estimatedMicros, by });
  if (confirmed === 0) throw invalidFields([alreadyConfirmed]);
  await insertRun(tx, { accountId, id, unusedMicros: estimatedMicros, unlisted: audience?.unlisted ?? 0 });
  await insertJob(tx, { accountId, id });
  const detail = { total: audience?.total, reservedMicros: estimatedMicros };
  await recordAudit(tx, actor, { action: 'campaign.confirm', subject: `campaign:${id}`, detail });
  await wakeCampaign(tx, { campaignId: id });
  await freeze(tx, [{ accountId, micros: estimatedMicros }], `campaign:${id}`).catch((error: unknown) => {
    throw isShortage(error) ? invalidFields([insufficientCredit(actor, campaign)]) : error;
  });
}

const alreadyConfirmed: FieldError = { field: 'status', message: 'the campaign is already confirmed' };

async function unmetPreconditions(tx: Db, actor: Actor, campaign: CampaignRow, now: Date): Promise<FieldError[]> {
  const { accountId } = actor;
  if (campaign.confirmedAt) return [alreadyConfirmed];
  return [
    ...(campaign.readyToSend ? [] : [{ field: 'readyToSend', message: 'must be true' }]),
    ...(await checkSettings(tx, { accountId, settings: campaign })),
    ...(await checkTemplates(tx, { accountId, settings: campaign })).map(({ field, message }) => ({ field, message })),
    ...recipientFaults(campaign),
    ...dateFaults(campaign, now),
    ...(await routeFaults(tx, accountId, campaign)),
    ...(await audienceFaults(tx, actor, campaign)),
  ];
}

const recipientFaults = ({ destinationType }: CampaignRow): FieldError[] =>
  destinationType === null
    ? [{ field: 'contactListIds', message: 'is required unless there are numbers in destinations' }]
    : [];

const dateFaults = ({ scheduledAt, localTime }: CampaignRow, now: Date): FieldError[] =>
  scheduledAt && scheduledAt <= now && localTime === null
    ? [{ field: 'scheduledDate', message: 'must be in the future' }]
    : [];

/**
 * Checks that SMS still have a route: it may have been removed since the audience was calculated. Other channels need none.
 */
async function routeFaults(tx: Db, accountId: number, { audience }: CampaignRow): Promise<FieldError[]> {
  const counted = audience?.breakdown.some(({ channel }) => !isRoutedBySender(channel)) ?? false;
  if (!counted) return [];
  const routes = await listRoutedPrefixes(tx, { accountId });
  if (routes.some(({ channel }) => channel === 'SMS')) return [];
  return [{ field: 'sendingMode', message: 'there is no longer a route for SMS' }];
}

/**
 * Checks that the price was calculated for what would be sent now, that at least one recipient is reached, and that the
 * price is within the credit.
 */
async function audienceFaults(tx: Db, actor: Actor, campaign: CampaignRow): Promise<FieldError[]> {
  const { audience, audienceFresh, estimatedMicros, availableMicros } = campaign;
  if (!audience) return [{ field: 'goal', message: 'the cost has not been calculated: call calculateGoal' }];
  if (!audienceFresh)
    return [
      {
        field: 'goal',
        message: 'recipients, mode or content have changed since the cost was calculated: call calculateGoal again',
      },
    ];
  if (!(await hasPricesOfGoal(tx, { ...campaign, accountId: actor.accountId })))
    return [{ field: 'goal', message: 'prices on its date differ from those of the goal: call calculateGoal again' }];
  if (audience.total === 0) return [{ field: 'destinations', message: nobodyReachable(audience.skipped) }];
  return availableMicros !== null && availableMicros < estimatedMicros ? [insufficientCredit(actor, campaign)] : [];
}

function nobodyReachable(skipped: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(skipped).flatMap(([reason, count]) => (count > 0 ? [`${reason} ${count}`] : []));
  return `no recipient can be reached${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}`;
}

const insufficientCredit = (actor: Actor, { estimatedMicros, availableMicros, currency }: CampaignRow): FieldError => ({
  field: 'credit',
  message: seesAmounts(actor)
    ? `is insufficient: the campaign costs up to ${fromMicros(estimatedMicros)} ${currency}, and ${fromMicros(availableMicros ?? 0)} is available`
    : 'is insufficient',
});

const RESTORED =
  'The database was restored, and its pending campaigns must not be sent: delete this campaign, or resume it';

/**
 * Discards the campaigns of all accounts that were confirmed before an instant: those that are being sent are
 * cancelled, those that wait for their time are paused until a person decides. Returns their number.
 */
export function discardCampaigns(
  pool: Pool,
  { before, by }: { readonly before: Date; readonly by: string },
): Promise<number> {
  return transaction(pool, async (tx) => {
    const discarded = await moveToDiscarded(tx, { before, reason: RESTORED });
    for (const { accountId, campaignId, cancelled } of discarded) {
      const action = cancelled ? 'campaign.cancel' : 'campaign.pause';
      await recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `campaign:${campaignId}` });
      await publishState(tx, { accountId, campaignId }, cancelled ? 'CANCELLED' : 'PAUSED');
      await wakeCampaign(tx, { campaignId });
    }
    return discarded.length;
  });
}

type Which = { readonly id: number };

/**
 * Pauses a campaign that is being sent: its waiting messages are parked, however many they are, and no more are
 * created. Messages that carriers already have are not affected. Pausing again changes nothing. Call it in a
 * transaction.
 * Errors: 400 by its status, 404.
 */
export async function pauseCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING || campaign.cancelledAt)
    throw refused('only a campaign that is being sent can be paused');
  if (campaign.pausedAt) return;
  await moveToPaused(tx, { accountId: actor.accountId, id });
  await moveChunksToParked(tx, { campaignId: id });
  await recordAndWake(tx, actor, 'campaign.pause', { id, state: 'PAUSED' });
}

/**
 * Resumes a paused campaign. If its scheduled time was missed, it is sent now. Resuming again changes nothing. Call it
 * in a transaction. Errors: 400 by its status, and when a template may not be sent, with the reason; 404.
 */
export async function resumeCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  const going = campaign.status === CAMPAIGN.SENDING && !campaign.cancelledAt;
  if (!going && !campaign.pausedAt) throw refused('only a paused campaign can be resumed');
  if (!campaign.pausedAt) return;
  const faults = await listTemplateFaults(tx, { accountId: actor.accountId, id, settings: campaign });
  if (faults.length > 0) throw invalidFields(faults.map(({ field, message }) => ({ field, message })));
  if ((await moveFromPaused(tx, { accountId: actor.accountId, id })) === 0) throw refused('the campaign has ended');
  if ((await moveChunksFromParked(tx, { campaignId: id })) > 0)
    await wakeConnections(tx, { ids: await listCampaignConnections(tx, { campaignId: id }) });
  await recordAndWake(tx, actor, 'campaign.resume', { id, state: 'SENDING' });
}

/**
 * Cancels a campaign that is being sent: workers withdraw the messages that no carrier has yet, and their credit is
 * returned; until then they are parked. Cancelling again changes nothing. Call it in a transaction.
 * Errors: 400 by its status, 404.
 */
export async function cancelCampaign(tx: Db, actor: Author, { id }: Which): Promise<void> {
  const campaign = await claim(tx, actor, id);
  if (campaign.status !== CAMPAIGN.SENDING)
    throw refused(
      campaign.status < CAMPAIGN.SENDING
        ? 'only a campaign that is being sent can be cancelled: delete one that has not started'
        : 'the campaign has ended',
    );
  if (campaign.cancelledAt) return;
  await moveToCancelled(tx, { accountId: actor.accountId, id });
  await moveChunksToParked(tx, { campaignId: id });
  await recordAndWake(tx, actor, 'campaign.cancel', { id, state: 'CANCELLED' });
}

async function claim(tx: Db, { accountId }: Author, id: number): Promise<CampaignRow> {
  return existing(claimCampaign(tx, { accountId, id }));
}

type NewState = { readonly id: number; readonly state: 'SENDING' | 'PAUSED' | 'CANCELLED' };

async function recordAndWake(tx: Db, actor: Author, action: string, { id, state }: NewState): Promise<void> {
  await publishState(tx, { accountId: actor.accountId, campaignId: id }, state);
  await updateJobDueNow(tx, { accountId: actor.accountId, id });
  await wakeCampaign(tx, { campaignId: id });
  await recordAudit(tx, actor, { action, subject: `campaign:${id}` });
}

const refused = (message: string) => invalidFields([{ field: 'status', message }]);

/**
 * Deletes a campaign that has not started; the credit of a scheduled one is returned. If it is due to start at the same
 * time, either the deletion or the start wins: both lock the campaign first. Call it in a transaction.
 * Errors: 404, also when it has started (the specification's error table); the message then names the status.
 */
export async function removeCampaign(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const campaign = await existing(claimCampaign(tx, one));
  if ((await deleteCampaign(tx, one)) === 0) throw notDeletable(campaign.status);
  await deleteDraftOf(tx, { accountId: actor.accountId, campaignId: id });
  const { name, reservedMicros } = campaign;
  await recordAudit(tx, actor, {
    action: 'campaign.delete',
    subject: `campaign:${id}`,
    detail: { name, reservedMicros },
  });
  if (campaign.confirmedAt === null) return;
  await updateJobDueNow(tx, one);
  await wakeCampaign(tx, { campaignId: id });
  const returned = [{ accountId: actor.accountId, micros: reservedMicros }];
  await settleFrozen(tx, { earned: [], returned, reference: `campaign:${id}` });
}

const notDeletable = (status: number): AppError =>
  new AppError('not_found', { message: `A campaign with status ${status} cannot be deleted: it has started` });

/** A million recipients are deleted in seconds. */
const MAX_MINUTES = 10;
const EVERYBODY = 1_000_000_000;

/**
 * Revokes the confirmation of a scheduled campaign that has not started: it can be edited again, and its recipients are
 * deleted. The caller has locked the campaign, and returns its `reservedMicros` to the account as the last step of the
 * transaction. Returns false, with nothing changed, when it is not waiting for its time.
 */
export async function takeBackConfirmation(
  tx: Db,
  actor: Author,
  { id, reservedMicros }: CampaignRow,
): Promise<boolean> {
  const { accountId } = actor;
  if ((await moveToUnconfirmed(tx, { accountId, id })) === 0) return false;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const job = { accountId, campaignId: id };
  await deleteRecipients(tx, job, { limit: EVERYBODY });
  await deleteRun(tx, job);
  await recordAudit(tx, actor, { action: 'campaign.take-back', subject: `campaign:${id}`, detail: { reservedMicros } });
  return true;
}

/**
 * Makes every campaign that sends one of these templates due now, so that workers pause those that may no longer send
 * it, or that would cost more (`campaigns/runner.ts`). Called when templates change, in the same transaction.
 */
export async function wakeCampaignsUsing(tx: Db, templates: readonly TemplateKey[]): Promise<void> {
  if (templates.length === 0) return;
  await endAudiencesOfOtherCategory(tx, templates);
  const ids = (await listJobsOfTemplates(tx, { keys: templates })).map(({ id }) => id);
  if (ids.length > 0) await wakeJobs(tx, { ids });
}

type One = { readonly accountId: number; readonly id: number };
type ConfirmedBy = { readonly keyId: number | null; readonly userId: number | null };

const of = ({ accountId, id }: One): Sql => sql`account_id = ${accountId} AND id = ${id}`;

/** A campaign by local time may be confirmed when the day has begun somewhere. */
const STARTS_NOW = sql`(scheduled_at IS NULL OR (local_time IS NOT NULL AND scheduled_at <= now()))`;

/**
 * Confirms a campaign as it is now. It becomes SENDING, or stays READY until its scheduled time. Returns 0 when it
 * cannot be confirmed: another caller has done so, or it has changed since its price was calculated.
 */
const moveToConfirmed = (
  db: Db,
  { reservedMicros, version, by, ...one }: One & { reservedMicros: number; version: number; by: ConfirmedBy },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET confirmed_at = now(), updated_at = now(), reserved_micros = ${reservedMicros},
          api_key_id = ${by.keyId}, user_id = ${by.userId},
          status = CASE WHEN ${STARTS_NOW} THEN ${CAMPAIGN.SENDING} ELSE status END,
          started_at = CASE WHEN ${STARTS_NOW} THEN now() END
        WHERE ${of(one)} AND ${statusAllows('send')} AND confirmed_at IS NULL AND ready_to_send
          AND version = ${version} AND audience_version = ${version}`,
  );

/**
 * Revokes the confirmation of a campaign that waits for its time. Returns 0 when it has started, or is not confirmed.
 */
const moveToUnconfirmed = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET confirmed_at = NULL, reserved_micros = 0, api_key_id = NULL, user_id = NULL, paused_at = NULL,
          failure_reason = NULL
        WHERE ${of(one)} AND ${statusAllows('unconfirm')} AND confirmed_at IS NOT NULL`,
  );

/** Inserts the counters of a confirmed campaign. `unlisted` count as skipped: they do not become recipients. */
const insertRun = (
  db: Db,
  { accountId, id, unusedMicros, unlisted }: One & { unusedMicros: number; unlisted: number },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO campaign_run (account_id, campaign_id, unused_micros, recipients, skipped)
        VALUES (${accountId}, ${id}, ${unusedMicros}, ${unlisted}, ${unlisted})`,
  );

/** Makes a campaign due for workers immediately; from then on each step sets when the next one is due. */
const insertJob = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`INSERT INTO campaign_job (campaign_id, account_id) VALUES (${id}, ${accountId})`);

export const updateJobDueNow = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`UPDATE campaign_job SET due_at = now() WHERE account_id = ${accountId} AND campaign_id = ${id}`);

type AwaitedTemplate = { readonly channel: RichChannel; readonly id: string };

/** Lists the campaigns that workers still process and that send one of these templates. */
const listJobsOfTemplates = (db: Db, { keys }: { keys: readonly AwaitedTemplate[] }): Promise<{ id: number }[]> => {
  const idsOf = (channel: string): string[] => keys.flatMap((key) => (key.channel === channel ? [key.id] : []));
  return many(
    db,
    sql`SELECT c.id FROM campaign_job j JOIN campaign c ON c.account_id = j.account_id AND c.id = j.campaign_id
        WHERE c.whatsapp_template_id = ANY(${idsOf('WHATSAPP')}::text[]) AND c.sending_mode LIKE '%WHATSAPP%'
           OR c.rcs_template_id = ANY(${idsOf('RCS')}::text[]) AND c.sending_mode LIKE '%RCS%'`,
  );
};

/**
 * Makes campaigns due immediately, and notifies the workers; the notification is delivered when the transaction
 * commits.
 */
const wakeJobs = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`WITH moved AS (
          UPDATE campaign_job SET due_at = now() WHERE campaign_id = ANY(${plainArray(ids)}::bigint[]) RETURNING campaign_id)
        SELECT pg_notify(${CAMPAIGNS_CHANNEL}, campaign_id::text) FROM moved`,
  );

/** Pauses a campaign that is being sent. Returns 0 when it is not being sent, is already paused, or was cancelled. */
const moveToPaused = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET paused_at = now(), updated_at = now()
        WHERE ${of(one)} AND ${statusAllows('pause')} AND paused_at IS NULL AND cancelled_at IS NULL`,
  );

/**
 * Resumes a campaign that a person paused, or that waits for a person because its time was missed or its account was
 * suspended. The reason stays, so that the worker can tell that a person decided this.
 */
const moveFromPaused = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET paused_at = NULL, updated_at = now()
        WHERE ${of(one)} AND ${statusAllows('resume')} AND confirmed_at IS NOT NULL AND paused_at IS NOT NULL
          AND cancelled_at IS NULL`,
  );

/**
 * Cancels a campaign, which may be paused: no more messages are created. Returns 0 when it is not being sent, or was
 * already cancelled.
 */
const moveToCancelled = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET cancelled_at = now(), updated_at = now(), paused_at = NULL, failure_reason = NULL
        WHERE ${of(one)} AND ${statusAllows('cancel')} AND cancelled_at IS NULL`,
  );

/**
 * Deletes a campaign permanently. Its job stays and deletes its run and recipients later. Returns 0 when the campaign
 * has started.
 */
const deleteCampaign = (db: Db, one: One): Promise<number> =>
  exec(db, sql`DELETE FROM campaign WHERE ${of(one)} AND ${statusAllows('delete')}`);

/** Notifies connections that they have messages to send; the notification is delivered when the transaction commits. */
const wakeConnections = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${WAKE_CHANNEL}, id::text) FROM unnest(${plainArray(ids)}::bigint[]) AS id`);
