import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Task } from '../core/background.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes, tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { firstIdAt } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { OPEN_STATES } from '../core/message-state.ts';
import { orNull } from '../core/schema.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { claimInboxes } from '../inbox/store.ts';
import { removeOldInbound } from '../media/store.ts';
import { eraseContents } from './message-content.ts';
import { deleteCampaignSteps, deleteConversations, deleteRecipients, findOldCampaign } from './retention.ts';

const days = (minimum: number, description: string) =>
  orNull(
    Type.Integer({ minimum, maximum: 3650, description: `${description} Null: as long as the installation keeps it.` }),
  );

const Retention = Type.Object({
  messagesDays: days(1, 'Days after which messages with a final status are deleted, with their history.'),
  bodiesDays: days(0, 'Days after which the texts of sent messages are deleted; 0: as soon as their status is final.'),
  mediaDays: days(1, 'Days after which files that people sent are deleted.'),
  inboundDays: days(1, 'Days after which received messages are deleted, and conversations without a later one.'),
});
type Retention = Static<typeof Retention>;
const RetentionIn = Type.Partial(Retention);
const NONE: Retention = { messagesDays: null, bodiesDays: null, mediaDays: null, inboundDays: null };

const PATH = '/api/partner-gateway/v1/account/retention';
const tags = ['Account'];

/** Registers the routes for how long an account keeps its data. */
export function accountRetentionRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'getRetention',
      summary: 'Get how long the account keeps its data',
      response: { 200: Retention },
    },
    handler: ({ actor }) => findRetention(tenant(pool, actor), actor),
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putRetention',
      summary: 'Change how long the account keeps its data',
      description:
        'Within an hour; what was deleted does not come back. Nothing is kept for longer than RETENTION_DAYS of the ' +
        'installation. Omitted fields are unchanged.',
      body: withExamples(RetentionIn, { messagesDays: 365, bodiesDays: 180, mediaDays: null }),
      response: { 200: Retention },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeRetention(tx, actor, body)),
  });
}

async function changeRetention(tx: Db, author: Author, patch: Static<typeof RetentionIn>): Promise<Retention> {
  const { accountId } = author;
  const row = await storeRetention(tx, { accountId, ...patch });
  await recordAudit(tx, author, { action: 'account.retention', subject: `account:${accountId}`, detail: row });
  return row;
}

const RETENTION = columns({
  messagesDays: as<number | null>('messages_days'),
  bodiesDays: as<number | null>('bodies_days'),
  mediaDays: as<number | null>('media_days'),
  inboundDays: as<number | null>('inbound_days'),
});
const PROGRESS = columns({
  accountId: as<number>('account_id'),
  /** The content of all messages below this id has been deleted. */
  bodiesFrom: as<string>('bodies_from'),
  /** The messages below this id have been looked at since then; some were not final. */
  bodiesTo: as<string>('bodies_to'),
});
type Row = RowOf<typeof RETENTION> & RowOf<typeof PROGRESS>;

const findRetention = async (db: Db, { accountId }: { readonly accountId: number }): Promise<Retention> =>
  (await maybeOne(db, sql`SELECT ${RETENTION} FROM account_retention WHERE account_id = ${accountId}`)) ?? NONE;

/** Stores the given fields with one statement, so that two requests that change different fields both count. */
const storeRetention = (
  db: Db,
  { accountId, ...patch }: { readonly accountId: number } & Static<typeof RetentionIn>,
): Promise<Retention> => {
  const { messagesDays, bodiesDays, mediaDays, inboundDays } = { ...NONE, ...patch };
  const kept = (column: Sql, value: number | null | undefined): Sql =>
    value === undefined ? sql`r.${column}` : sql`excluded.${column}`;
  return one(
    db,
    sql`INSERT INTO account_retention AS r (account_id, messages_days, bodies_days, media_days, inbound_days)
        VALUES (${accountId}, ${messagesDays}, ${bodiesDays}, ${mediaDays}, ${inboundDays})
        ON CONFLICT (account_id) DO UPDATE SET messages_days = ${kept(sql`messages_days`, patch.messagesDays)},
          bodies_days = ${kept(sql`bodies_days`, patch.bodiesDays)}, media_days = ${kept(sql`media_days`, patch.mediaDays)},
          inbound_days = ${kept(sql`inbound_days`, patch.inboundDays)}
        RETURNING ${RETENTION}`,
  );
};

const ROWS_PER_BATCH = 1000;
/** For the look at all messages since the oldest whose content is there. */
const PASS_MINUTES = 10;

type Deps = { readonly pool: Pool; readonly log: Log; readonly now: () => Date };

/**
 * Deletes a batch of what each account wants to keep for less long than the installation. An error in one account is
 * logged, and keeps no other from its turn.
 *
 * @returns the wait until the next run in ms; 0 when there is more to do
 */
export async function deleteForAccounts({ pool, log, now }: Deps): Promise<number> {
  const rows = await many<Row>(pool, sql`SELECT ${RETENTION}, ${PROGRESS} FROM account_retention ORDER BY account_id`);
  let deleted = 0;
  for (const row of rows)
    deleted += await deleteForAccount(pool, row, now()).catch((err: unknown) => {
      log.error({ err, accountId: row.accountId }, 'the data of an account could not be deleted at their end');
      return 0;
    });
  return deleted > 0 ? 0 : HOUR_MS;
}

async function deleteForAccount(pool: Pool, row: Row, now: Date): Promise<number> {
  const { accountId, messagesDays, bodiesDays, inboundDays } = row;
  const ago = (some: number): Date => new Date(now.getTime() - some * DAY_MS);
  // The files of received messages go with these.
  const fileDays = Math.min(row.mediaDays ?? Number.POSITIVE_INFINITY, inboundDays ?? Number.POSITIVE_INFINITY);
  return (
    (messagesDays === null ? 0 : await deleteMessages(pool, { accountId, before: ago(messagesDays) })) +
    (messagesDays === null ? 0 : await deleteRecipientsOf(pool, { accountId, before: ago(messagesDays) })) +
    (bodiesDays === null ? 0 : await deleteBodies(pool, { ...row, before: ago(bodiesDays) })) +
    (Number.isFinite(fileDays) ? await removeOldInbound(pool, { before: ago(fileDays), accountId }) : 0) +
    (inboundDays === null ? 0 : await deleteInbound(pool, { accountId, before: ago(inboundDays) }))
  );
}

type Old = { readonly accountId: number; readonly before: Date };

/** Deletes messages whose status is final and whose credit is settled, and what conversations show of them. */
function deleteMessages(pool: Pool, { accountId, before }: Old): Promise<number> {
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    const { gone } = await one<{ gone: number }>(
      tx,
      sql`WITH old AS (
          SELECT id FROM message_state WHERE account_id = ${accountId} AND id < ${firstIdAt(before)}
            AND status NOT IN (${OPEN_STATES}) AND NOT credit_held ORDER BY id LIMIT ${ROWS_PER_BATCH}),
        parts AS (DELETE FROM message_part WHERE account_id = ${accountId} AND message_id IN (SELECT id FROM old)),
        events AS (DELETE FROM message_event WHERE account_id = ${accountId} AND message_id IN (SELECT id FROM old)),
        texts AS (
          DELETE FROM inbox_message WHERE account_id = ${accountId} AND direction = 'OUTBOUND' AND id IN (SELECT id FROM old)
          RETURNING chat_id, at),
        shown AS (
          UPDATE conversation c SET last_text = '' FROM (SELECT chat_id, max(at) AS at FROM texts GROUP BY 1) AS t
          WHERE c.account_id = ${accountId} AND c.chat_id = t.chat_id AND c.last_at <= t.at),
        states AS (DELETE FROM message_state WHERE account_id = ${accountId} AND id IN (SELECT id FROM old)),
        gone AS (DELETE FROM message WHERE account_id = ${accountId} AND id IN (SELECT id FROM old) RETURNING id)
        SELECT count(*)::int AS gone FROM gone`,
    );
    return gone;
  });
}

/** Deletes the recipients of a campaign that ended before. */
async function deleteRecipientsOf(pool: Pool, old: Old): Promise<number> {
  const campaign = await findOldCampaign(pool, old);
  if (!campaign) return 0;
  return (await deleteRecipients(pool, { ...campaign, limit: ROWS_PER_BATCH })) || deleteCampaignSteps(pool, campaign);
}

/**
 * Deletes the contents of messages, in passes over those that were not final before: each begins with the oldest of
 * them, and goes on in the next call from the last message found.
 */
function deleteBodies(pool: Pool, row: Old & Pick<Row, 'bodiesFrom' | 'bodiesTo'>): Promise<number> {
  const { accountId, before, bodiesFrom, bodiesTo } = row;
  const end = firstIdAt(before);
  return transaction(pool, async (tx) => {
    const found = await many<{ id: string }>(
      tx,
      sql`SELECT id FROM message_state
          WHERE account_id = ${accountId} AND id >= ${bodiesTo} AND id < ${end} AND status NOT IN (${OPEN_STATES})
            AND erased IS NULL ORDER BY id LIMIT ${ROWS_PER_BATCH}`,
    );
    const last = found.at(-1);
    if (last) {
      await eraseContents(tx, { accountId, ids: found.map(({ id }) => id) });
      await exec(tx, sql`UPDATE account_retention SET bodies_to = ${last.id} WHERE account_id = ${accountId}`);
    } else await endPass(tx, { accountId, from: bodiesFrom, end });
    return found.length;
  });
}

/** Ends a pass. A message without a final state, as one that is scheduled for later, is looked at again in the next. */
const endPass = async (
  tx: Db,
  { accountId, from, end }: { readonly accountId: number; readonly from: string; readonly end: string },
): Promise<void> => {
  await setStatementTimeoutMinutes(tx, PASS_MINUTES);
  await exec(
    tx,
    sql`UPDATE account_retention r SET bodies_from = n.id, bodies_to = n.id
        FROM (SELECT coalesce((
          SELECT m.id FROM message m LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = m.id
          WHERE m.account_id = ${accountId} AND m.id >= ${from} AND m.id < ${end} AND s.erased IS NULL
          ORDER BY m.id LIMIT 1), greatest(${from}::uuid, ${end}::uuid)) AS id) AS n
        WHERE r.account_id = ${accountId}`,
  );
};

/** Deletes received messages, and conversations that have none since. */
function deleteInbound(pool: Pool, { accountId, before }: Old): Promise<number> {
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    const inbound = await exec(
      tx,
      sql`DELETE FROM inbound_message WHERE account_id = ${accountId} AND id IN (
            SELECT id FROM inbound_message WHERE account_id = ${accountId} AND received_at < ${before}
            LIMIT ${ROWS_PER_BATCH})`,
    );
    const texts = await exec(
      tx,
      sql`DELETE FROM inbox_message WHERE account_id = ${accountId} AND (chat_id, id) IN (
            SELECT chat_id, id FROM inbox_message WHERE account_id = ${accountId} AND direction = 'INBOUND' AND at < ${before}
            LIMIT ${ROWS_PER_BATCH})`,
    );
    const chats = await deleteConversations(tx, { accountId, before, limit: ROWS_PER_BATCH });
    return inbound + texts + chats;
  });
}

/** The task that deletes what accounts want to keep for less long than the installation. */
export const accountRetentionTasks = (deps: Deps): Task[] => [
  { name: 'retention of accounts', pausable: true, work: () => deleteForAccounts(deps) },
];
