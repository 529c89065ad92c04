import { type Author, recordAudit } from '../audit/record.ts';
import { notifyAccountChange } from '../accounts/sql.ts';
import type { Hashed } from '../users/password.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import { canonicalBlock } from '../../platform/lib/address.ts';
import { generateSystemId } from './secret.ts';
import { type CredentialSettings, insertCredential } from './sql.ts';

/** What is given of the settings; the rest has its default, or stays as it is. */
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

/** Returns the settings that were given, without whatever else is in a body. */
export const givenIn = (input: SettingsInput): Partial<CredentialSettings> =>
  Object.fromEntries(NAMES.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]));

/** Completes settings by others. Errors: 400 naming each address that is none. */
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

/**
 * Creates a credential of the author's account with a new system_id and this password (`newSmppPassword`). Call it in a
 * transaction. Errors: 400 for an address that is none.
 */
export async function createCredential(
  tx: Db,
  author: Author,
  { password, passwordHash, ...input }: SettingsInput & Hashed,
): Promise<IssuedCredential> {
  const settings = withSettings(input);
  const systemId = generateSystemId();
  const { accountId } = author;
  const { id, createdAt } = await insertCredential(tx, { ...settings, accountId, systemId, passwordHash });
  const detail = { systemId, ...settings };
  await recordAudit(tx, author, { action: 'smpp-credential.create', subject: `smpp-credential:${id}`, detail });
  // Its binds may be refused elsewhere until the others know of it.
  await notifyAccountChange(tx, { accountId });
  return { ...settings, id, systemId, password, createdAt };
}
