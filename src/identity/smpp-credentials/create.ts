import { type Author, recordAudit } from '../audit/record.ts';
import { notifyAccountChange } from '../accounts/sql.ts';
import type { Hashed } from '../users/password.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import { canonicalBlock } from '../../platform/lib/address.ts';
import { generateSystemId } from './secret.ts';
import { type CredentialSettings, insertCredential, lockCredentials, sumWindows } from './sql.ts';

/** Settings as given; omitted ones get their default, or are unchanged. */
export type SettingsInput = { readonly [K in keyof CredentialSettings]?: CredentialSettings[K] | undefined };

const DEFAULTS: CredentialSettings = {
  name: '',
  maxBinds: 2,
  window: 50,
  tps: null,
  addresses: [],
  senders: [],
  alphabet: 'gsm',
  messageIds: 'uuid',
  inbound: true,
};

/** A credential with its password, which cannot be shown again. */
export type IssuedCredential = CredentialSettings & {
  readonly id: number;
  readonly systemId: string;
  readonly password: string;
  readonly createdAt: Date;
};

const NAMES = Object.keys(DEFAULTS) as readonly (keyof CredentialSettings)[];

/** Returns the settings that were given, without any other field of a body. */
export const givenIn = (input: SettingsInput): Partial<CredentialSettings> =>
  Object.fromEntries(NAMES.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]));

/** Completes settings by others. Errors: 400 naming each invalid address. */
export function withSettings(input: SettingsInput, base: CredentialSettings = DEFAULTS): CredentialSettings {
  const settings: CredentialSettings = { ...base, ...givenIn(input) };
  return { ...settings, addresses: readBlocks(settings.addresses) };
}

function readBlocks(texts: readonly string[]): string[] {
  const blocks = texts.map((text) => canonicalBlock(text.trim()));
  const faults = blocks.flatMap((block, at) =>
    block === undefined ? [{ field: `addresses[${at}]`, message: 'must be an IP address or a CIDR block' }] : [],
  );
  if (faults.length > 0) throw invalidFields(faults);
  return [...new Set(blocks.filter((block) => block !== undefined))];
}

/** Maximum of outstanding requests of all binds of an account: each is work that has begun, or waits in memory. */
const MAX_WINDOWS = 10_000;

/** Runs a change of credentials. Errors: 400 when binds × window of all of them exceed 10,000 afterwards. */
export async function withinWindows<T>(tx: Db, { accountId }: Author, change: () => Promise<T>): Promise<T> {
  await lockCredentials(tx, { accountId });
  const result = await change();
  const sum = await sumWindows(tx, { accountId });
  if (sum <= MAX_WINDOWS) return result;
  const message = `must be smaller: binds × window of all credentials of the account would be ${sum}, at most ${MAX_WINDOWS}`;
  throw invalidFields([{ field: 'window', message }]);
}

/**
 * Creates a credential of the author's account with a new system_id and this password (`newSmppPassword`). Call it in a
 * transaction. Errors: 400 for an invalid address, and for more requests in flight than an account may have.
 */
export async function createCredential(
  tx: Db,
  author: Author,
  { password, passwordHash, ...input }: SettingsInput & Hashed,
): Promise<IssuedCredential> {
  const settings = withSettings(input);
  const systemId = generateSystemId();
  const { accountId } = author;
  const row = { ...settings, accountId, systemId, passwordHash };
  const { id, createdAt } = await withinWindows(tx, author, () => insertCredential(tx, row));
  const detail = { systemId, ...settings };
  await recordAudit(tx, author, { action: 'smpp-credential.create', subject: `smpp-credential:${id}`, detail });
  // Other processes may reject its binds until they know of it.
  await notifyAccountChange(tx, { accountId });
  return { ...settings, id, systemId, password, createdAt };
}
