import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { isSmsSender } from '../core/channels.ts';
import { bigint, int, rowsOf } from '../core/db/columns.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { notifyRoutingChange } from './connection-store.ts';

/** States of a registration at a provider. Only an ACTIVE one lets messages pass. */
export const REGISTRATION_STATUSES = ['PENDING', 'ACTIVE', 'REJECTED', 'EXPIRED'] as const;
export type RegistrationStatus = (typeof REGISTRATION_STATUSES)[number];

const REGISTERED = columns({
  id: as<number>('r.id'),
  /** Leading digits without the plus; empty for all numbers. */
  prefix: as<string>('r.prefix'),
  sender: as<string>('r.sender'),
  /** The account that may use it; null for all. */
  ownerId: as<number | null>('r.owner_id'),
  account: as<string | null>('(SELECT name FROM account WHERE id = r.owner_id)'),
  /** The connection of the provider that registered it; null for all. */
  connectionId: as<number | null>('r.connection_id'),
  connection: as<string | null>('(SELECT name FROM connection WHERE id = r.connection_id)'),
  status: as<RegistrationStatus>('r.status'),
  /** The provider's or the registry's own reference. */
  reference: as<string | null>('r.reference'),
  validFrom: as<Date | null>('r.valid_from'),
  /** The instant at which it ends. */
  validTo: as<Date | null>('r.valid_to'),
  /** Ids of The Campaign Registry (10DLC in the United States). */
  brandId: as<string | null>('r.brand_id'),
  campaignId: as<string | null>('r.campaign_id'),
  /** Parts per second over each connection; null: no limit. */
  tps: as<number | null>('r.tps'),
  /** Parts per day in UTC over all connections; null: no limit. */
  dailyCap: as<number | null>('r.daily_cap'),
});
export type RegisteredSender = RowOf<typeof REGISTERED>;
export type NewRegistered = Omit<RegisteredSender, 'id' | 'account' | 'connection'>;

export async function listRegistered(db: Db): Promise<RegisteredSender[]> {
  return many(
    db,
    sql`SELECT ${REGISTERED} FROM registered_sender r ORDER BY r.prefix, r.sender, r.owner_id, r.connection_id, r.id`,
  );
}

/** Inserts a registration, or changes the one of this prefix, sender, account and connection. */
async function insertRegistered(db: Db, r: NewRegistered): Promise<RegisteredSender> {
  return one(
    db,
    sql`INSERT INTO registered_sender AS r (prefix, sender, owner_id, connection_id, status, reference, valid_from,
                                            valid_to, brand_id, campaign_id, tps, daily_cap)
        VALUES (${r.prefix}, ${r.sender}, ${r.ownerId}, ${r.connectionId}, ${r.status}, ${r.reference}, ${r.validFrom},
                ${r.validTo}, ${r.brandId}, ${r.campaignId}, ${r.tps}, ${r.dailyCap})
        ON CONFLICT (prefix, sender, owner_id, connection_id) DO UPDATE SET status = excluded.status,
          reference = excluded.reference, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
          brand_id = excluded.brand_id, campaign_id = excluded.campaign_id, tps = excluded.tps,
          daily_cap = excluded.daily_cap
        RETURNING ${REGISTERED}`,
  );
}

/** Parts that are about to be sent today by a registration, and parts of today that were not sent after all. */
export type DailyUse = { readonly id: number; readonly asked: number; readonly returned: number };

/** Counts parts of today (UTC) and returns how many of those asked for the daily caps still grant. */
export async function takeDailyParts(db: Db, uses: readonly DailyUse[]): Promise<{ id: number; granted: number }[]> {
  return many(
    db,
    sql`WITH use AS (
          SELECT r.id, u.asked, r.daily_cap, (now() AT TIME ZONE 'UTC')::date AS today,
                 CASE WHEN r.used_on = (now() AT TIME ZONE 'UTC')::date
                   THEN greatest(0, r.used_parts - u.returned) ELSE 0 END AS used
          FROM ${rowsOf(uses, {
            id: bigint((u) => u.id),
            asked: int((u) => u.asked),
            returned: int((u) => u.returned),
          })} AS u
          JOIN registered_sender r ON r.id = u.id ORDER BY r.id FOR UPDATE OF r),
        grants AS (
          SELECT id, today, used, least(asked, greatest(0, coalesce(daily_cap, used + asked) - used)) AS granted FROM use)
        UPDATE registered_sender r SET used_on = g.today, used_parts = g.used + g.granted
        FROM grants g WHERE r.id = g.id RETURNING r.id, g.granted`,
  );
}

/** Deletes a registration and returns it; undefined when there is none. */
async function deleteRegistered(db: Db, { id }: { id: number }): Promise<RegisteredSender | undefined> {
  return maybeOne(db, sql`DELETE FROM registered_sender r WHERE r.id = ${id} RETURNING ${REGISTERED}`);
}

type By = { readonly by: string };

/**
 * Records the registration of a sender for the numbers with a prefix, or changes it; running processes follow
 * immediately. Call it in a transaction. Errors: 400 naming the invalid fields.
 */
export async function setRegistered(tx: Db, { by, ...entry }: NewRegistered & By): Promise<RegisteredSender> {
  const { validFrom, validTo } = entry;
  const errors = [
    ...(/^\d{0,15}$/.test(entry.prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(isSmsSender(entry.sender) ? [] : [{ field: 'sender', message: 'must be a sender' }]),
    ...(validFrom && validTo && validTo <= validFrom ? [{ field: 'validTo', message: 'must be after validFrom' }] : []),
  ];
  if (errors.length > 0) throw invalidFields(errors);
  const made = await insertRegistered(tx, entry);
  await recordChange(tx, { by, action: 'registered-sender.set' }, made);
  return made;
}

/** Removes a registration. Errors: 404. */
export async function removeRegistered(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const gone = Number.isSafeInteger(id) ? await deleteRegistered(tx, { id }) : undefined;
  if (!gone) throw new AppError('not_found', { message: 'There is no such sender' });
  await recordChange(tx, { by, action: 'registered-sender.remove' }, gone);
}

async function recordChange(tx: Db, { by, action }: By & { action: string }, changed: RegisteredSender): Promise<void> {
  const { id: _, sender, ownerId, account: _account, connectionId: _connection, ...detail } = changed;
  await recordAudit(tx, operatorAuthor(ownerId ?? GATEWAY_ACCOUNT_ID, by), {
    action,
    subject: `registered-sender:${sender}`,
    detail,
  });
  await notifyRoutingChange(tx);
}

/** The use of a sender: the account, the number in E.164 with its plus, and the sender itself. */
export type SenderUse = { readonly accountId: number; readonly destination: string; readonly sender: string };

/** Registrations in memory, because they are needed for every SMS from a registered sender. */
export type Registrations = {
  /** Returns true if the sender has any registration, valid or not, for this account and number. */
  isListed(use: SenderUse): boolean;
  /** Returns true if it is registered over some connection now. */
  holds(use: SenderUse): boolean;
  /**
   * Returns the registration that holds over a connection now: that of the connection itself goes before one of all
   * connections, then the longest prefix. Undefined if there is none.
   */
  find(use: SenderUse, connectionId: number): RegisteredSender | undefined;
  /** Returns true if any registration of the sender has a rate or a daily cap. */
  isPaced(sender: string): boolean;
};

export function registrationsOf(rows: readonly RegisteredSender[], now: () => number = Date.now): Registrations {
  const bySender = Map.groupBy(rows.toSorted(compareRanks), ({ sender }) => sender.toLowerCase());
  const of = ({ accountId, destination, sender }: SenderUse): readonly RegisteredSender[] =>
    (bySender.get(sender.toLowerCase()) ?? []).filter(
      ({ prefix, ownerId }) => destination.startsWith(`+${prefix}`) && (ownerId === null || ownerId === accountId),
    );
  const isValid = ({ status, validFrom, validTo }: RegisteredSender): boolean =>
    status === 'ACTIVE' && !(validFrom && now() < validFrom.getTime()) && !(validTo && now() >= validTo.getTime());
  return {
    isListed: (use) => of(use).length > 0,
    holds: (use) => of(use).some(isValid),
    find: (use, connectionId) =>
      of(use).find((row) => (row.connectionId === null || row.connectionId === connectionId) && isValid(row)),
    isPaced: (sender) =>
      bySender.get(sender.toLowerCase())?.some(({ tps, dailyCap }) => tps !== null || dailyCap !== null) ?? false,
  };
}

const compareRanks = (a: RegisteredSender, b: RegisteredSender): number =>
  Number(a.connectionId === null) - Number(b.connectionId === null) || b.prefix.length - a.prefix.length;
