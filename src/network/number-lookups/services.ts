import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { createNumberLookup, type Found } from '../../carriers/number-lookup/lookup.ts';
import { parseLookupSettings } from '../../carriers/number-lookup/settings.ts';
import { faultsIn } from '../../carriers/parse-settings.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import { guardedLookup } from '../../platform/outbound/connect.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import { notifyRoutingChange } from '../connections/sql.ts';
import type { OpenService } from './finder.ts';
import * as db from './sql.ts';

const placeOf = (id: number): string => `lookup_service.secret/${id}`;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

export type NewService = { readonly name: string; readonly settings: unknown; readonly apiKey: string };

/**
 * Adds a service that knows the networks of numbers; running processes use it immediately. The oldest service is asked.
 * Call it in a transaction. Errors: 400 naming the invalid fields, 409 when the name is taken.
 */
export async function addService(
  tx: Db,
  key: SecretKey,
  { by, name, settings: given, apiKey }: NewService & { readonly by: string },
): Promise<{ id: number }> {
  if (!NAME.test(name))
    throw invalidFields([
      { field: 'name', message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores' },
    ]);
  const settings = parse(given);
  const row = await db.insertService(tx, { name, settings });
  if (!row) throw new AppError('conflict', { message: `A look-up service named ${name} exists` });
  await db.updateServiceSecret(tx, { id: row.id, secret: seal(key, apiKey, placeOf(row.id)) });
  await record(tx, { by, action: 'lookup.add', name });
  return row;
}

function parse(given: unknown): object {
  try {
    return parseLookupSettings(given);
  } catch (error) {
    throw invalidFields(faultsIn(error).map(({ field, message }) => ({ field: `settings.${field}`, message })));
  }
}

/** Removes a service. Its cached results are kept until they expire. Call it in a transaction. Errors: 404. */
export async function removeService(
  tx: Db,
  { name, by }: { readonly name: string; readonly by: string },
): Promise<void> {
  if ((await db.deleteService(tx, { name })) === 0)
    throw new AppError('not_found', { message: `There is no look-up service ${name}` });
  await record(tx, { by, action: 'lookup.remove', name });
}

async function record(tx: Db, { by, action, name }: { by: string; action: string; name: string }): Promise<void> {
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: `lookup:${name}` });
  await notifyRoutingChange(tx);
}

type Outside = { readonly secretKey: SecretKey; readonly guard: Guard };

/**
 * Opens a stored service; it dials only addresses that webhooks may be posted to. Throws when it was sealed with
 * another SECRET_KEY.
 */
export function openService(
  { id, name, version, ...stored }: db.LookupService,
  { secretKey, guard }: Outside,
): OpenService {
  const settings = parseLookupSettings(stored.settings);
  const apiKey = open(secretKey, stored.secret, placeOf(id)).toString();
  const lookup = createNumberLookup(settings, apiKey, { lookup: guardedLookup(guard), isAllowed: guard.isAllowed });
  return { id, name, version, settings, lookup };
}

/** Asks a service for a number once, without storing anything. Errors: 404. */
export async function testService(tx: Db, outside: Outside, asked: { name: string; number: string }): Promise<Found> {
  const stored = (await db.listServices(tx)).find(({ name }) => name === asked.name);
  if (!stored) throw new AppError('not_found', { message: `There is no look-up service ${asked.name}` });
  const { lookup } = openService(stored, outside);
  try {
    return await lookup.find(asked.number);
  } finally {
    await lookup.close();
  }
}
