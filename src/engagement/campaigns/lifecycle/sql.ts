import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, type Sql, sql } from '../../../platform/db/query.ts';
import { WAKE_CHANNEL } from '../../../network/dispatch/wake.ts';
import { CAMPAIGNS_CHANNEL } from '../../../messaging/messages/campaign-ends/sql.ts';
import { statusAllows } from '../sql.ts';
import { CAMPAIGN } from '../states.ts';
import { routedPrefixes } from '../../../network/routing/sql.ts';

type One = { readonly accountId: number; readonly id: number };
type ConfirmedBy = { readonly keyId: number | null; readonly userId: number | null };

const of = ({ accountId, id }: One): Sql => sql`account_id = ${accountId} AND id = ${id}`;

/**
 * Confirms a campaign as it is now. It becomes SENDING, or stays READY until its scheduled time. Returns 0 when it
 * cannot be confirmed: another caller has done so, or it has changed since its price was calculated.
 */
export const moveToConfirmed = (
  db: Db,
  { reservedMicros, version, by, ...one }: One & { reservedMicros: number; version: number; by: ConfirmedBy },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET confirmed_at = now(), updated_at = now(), reserved_micros = ${reservedMicros},
          api_key_id = ${by.keyId}, user_id = ${by.userId},
          status = CASE WHEN scheduled_at IS NULL THEN ${CAMPAIGN.SENDING} ELSE status END,
          started_at = CASE WHEN scheduled_at IS NULL THEN now() END
        WHERE ${of(one)} AND ${statusAllows('send')} AND confirmed_at IS NULL AND ready_to_send
          AND version = ${version} AND goal_version = ${version}`,
  );

/**
 * Revokes the confirmation of a campaign that waits for its time. Returns 0 when it has started, or is not confirmed.
 */
export const moveToUnconfirmed = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET confirmed_at = NULL, reserved_micros = 0, api_key_id = NULL, user_id = NULL, paused_at = NULL,
          failure_reason = NULL
        WHERE ${of(one)} AND ${statusAllows('unconfirm')} AND confirmed_at IS NOT NULL`,
  );

/** Finds any route for SMS that an account may use; undefined when there is none. */
export const findSmsRoute = (db: Db, account: { accountId: number }): Promise<{ prefix: string } | undefined> =>
  maybeOne(db, sql`SELECT r.prefix FROM ${routedPrefixes(account)} AS r WHERE r.channel = 'SMS' LIMIT 1`);

/** Inserts the counters of a confirmed campaign. `unlisted` count as skipped: they do not become recipients. */
export const insertRun = (
  db: Db,
  { accountId, id, unusedMicros, unlisted }: One & { unusedMicros: number; unlisted: number },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO campaign_run (account_id, campaign_id, unused_micros, recipients, skipped)
        VALUES (${accountId}, ${id}, ${unusedMicros}, ${unlisted}, ${unlisted})`,
  );

/** Makes a campaign due for workers immediately; from then on each step sets when the next one is due. */
export const insertJob = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`INSERT INTO campaign_job (campaign_id, account_id) VALUES (${id}, ${accountId})`);

/** Makes a campaign due immediately. */
export const updateJobDueNow = (db: Db, { accountId, id }: One): Promise<number> =>
  exec(db, sql`UPDATE campaign_job SET due_at = now() WHERE account_id = ${accountId} AND campaign_id = ${id}`);

type TemplateKey = { readonly channel: 'RCS' | 'WHATSAPP'; readonly id: string };

/** Lists the campaigns that workers still process and that send one of these templates. */
export const listJobsOfTemplates = (db: Db, { keys }: { keys: readonly TemplateKey[] }): Promise<{ id: number }[]> => {
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
export const wakeJobs = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`WITH moved AS (
          UPDATE campaign_job SET due_at = now() WHERE campaign_id = ANY(${plainArray(ids)}::bigint[]) RETURNING campaign_id)
        SELECT pg_notify(${CAMPAIGNS_CHANNEL}, campaign_id::text) FROM moved`,
  );

/** Pauses a campaign that is being sent. Returns 0 when it is not being sent, is already paused, or was cancelled. */
export const moveToPaused = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET paused_at = now(), updated_at = now()
        WHERE ${of(one)} AND ${statusAllows('pause')} AND paused_at IS NULL AND cancelled_at IS NULL`,
  );

/**
 * Resumes a campaign that a person paused, or that waits for a person because its time was missed or its account was
 * suspended. The reason stays, so that the worker can tell that a person decided this.
 */
export const moveFromPaused = (db: Db, one: One): Promise<number> =>
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
export const moveToCancelled = (db: Db, one: One): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET cancelled_at = now(), updated_at = now(), paused_at = NULL, failure_reason = NULL
        WHERE ${of(one)} AND ${statusAllows('cancel')} AND cancelled_at IS NULL`,
  );

/**
 * Deletes a campaign permanently. Its job stays and deletes its run and recipients later. Returns 0 when the campaign
 * has started.
 */
export const deleteCampaign = (db: Db, one: One): Promise<number> =>
  exec(db, sql`DELETE FROM campaign WHERE ${of(one)} AND ${statusAllows('delete')}`);

/** Notifies connections that they have messages to send; the notification is delivered when the transaction commits. */
export const wakeConnections = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${WAKE_CHANNEL}, id::text) FROM unnest(${plainArray(ids)}::bigint[]) AS id`);
