import { isIP } from 'node:net';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { type Actor, type Role, requireAuthority } from '../core/actor.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, transaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { describeFault, type Guard, type ResolveTexts } from '../core/outbound.ts';
import type { SecretKey } from '../core/secrets.ts';
import { findAccount } from './accounts.ts';
import { type Author, operatorAuthor, recordAudit, systemAuthor } from './audit.ts';
import {
  deleteOtherClaims,
  deleteProof,
  deleteSettings,
  findHolderForUpdate,
  findSettings,
  findSettingsForUpdate,
  type GroupRole,
  insertClaims,
  insertProof,
  isTakenName,
  type SettingsRow,
  sealClientSecret,
  updateRequired,
  upsertSettings,
} from './single-sign-on.ts';
import { findUser } from './users.ts';

type SettingsInput = {
  readonly shortName: string;
  readonly enabled: boolean;
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client. Undefined: the stored one stays. */
  readonly clientSecret?: string | null | undefined;
  readonly scopes: readonly string[];
  readonly groupsClaim: string | null;
  readonly groupRoles: readonly GroupRole[];
  readonly defaultRole: Role | null;
  readonly emailDomains: readonly string[];
  readonly required: boolean;
  readonly emergencyUserId: number | null;
};

type Deps = { readonly secretKey: SecretKey; readonly guard: Guard };

/**
 * Sets the single sign-on of the actor's account, effective with the next sign-in. Call it in a transaction. Errors: 400
 * for settings that do not fit together, 403 when the actor may not grant a role in them, 409 when the short name belongs
 * to another account, and when it is to be required without a successful trial of these settings.
 */
export async function changeSettings(
  { secretKey, guard }: Deps,
  tx: Db,
  actor: Actor,
  input: SettingsInput,
): Promise<void> {
  const { accountId } = actor;
  const settings = normalized(input);
  const faults = faultsOf(settings, guard);
  if (faults.length > 0) throw invalidFields(faults);
  for (const role of rolesIn(settings)) requireAuthority(actor, role);
  const before = await findSettingsForUpdate(tx, { accountId });
  const version = before === undefined ? 1 : before.version + Number(isOtherTrial(before, settings));
  if (settings.required || settings.emergencyUserId !== null)
    await requireEmergencyAdmin(tx, accountId, settings.emergencyUserId);
  if (settings.required && !isTried(before, version))
    throw new AppError('conflict', {
      message: 'Try these settings first: single sign-on is required only once it works',
    });
  const { clientSecret, emailDomains, ...stored } = settings;
  const kept = before?.clientSecret ?? null;
  const sealed = typeof clientSecret === 'string' ? sealClientSecret(secretKey, accountId, clientSecret) : clientSecret;
  const row = { ...stored, accountId, version, clientSecret: sealed === undefined ? kept : sealed };
  await upsertSettings(tx, row).catch((error: unknown) => {
    throw isTakenName(error) ? new AppError('conflict', { message: 'Another account has this short name' }) : error;
  });
  await deleteOtherClaims(tx, { accountId, domains: emailDomains });
  await insertClaims(tx, { accountId, domains: emailDomains });
  await recordAudit(tx, actor, {
    action: 'account.single-sign-on',
    ...subjectOf(accountId),
    detail: shownIn(settings),
  });
}

/** Removes the single sign-on of the author's account; its users stay. Call it in a transaction. Errors: 404. */
export async function removeSettings(tx: Db, author: Author): Promise<void> {
  const { accountId } = author;
  if ((await deleteSettings(tx, { accountId })) === 0) throw new AppError('not_found');
  await recordAudit(tx, author, {
    action: 'account.single-sign-on',
    ...subjectOf(accountId),
    detail: { removed: true },
  });
}

/**
 * Lets passwords of the author's account sign in again. Call it in a transaction. Returns false if they did already.
 */
async function makeOptional(tx: Db, author: Author): Promise<boolean> {
  const { accountId } = author;
  if ((await updateRequired(tx, { accountId })) === 0) return false;
  const detail = { required: false };
  await recordAudit(tx, author, { action: 'account.single-sign-on', ...subjectOf(accountId), detail });
  return true;
}

/** The subject of audit entries about single sign-on. */
const subjectOf = (accountId: number) => ({ subject: `account:${accountId}` });

type Settings = Omit<SettingsInput, 'scopes' | 'groupRoles' | 'emailDomains'> & {
  readonly scopes: string[];
  readonly groupRoles: GroupRole[];
  readonly emailDomains: string[];
};

const normalized = (input: SettingsInput): Settings => ({
  ...input,
  issuer: input.issuer.trim(),
  clientId: input.clientId.trim(),
  scopes: [...new Set(input.scopes)],
  groupRoles: input.groupRoles.map(({ group, role }) => ({ group, role })),
  emailDomains: [...new Set(input.emailDomains.map((domain) => domain.trim().toLowerCase()))],
});

function faultsOf(settings: Settings, guard: Guard): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (field: string, message: string) => faults.push({ field, message });
  const issuer = issuerFault(settings.issuer, guard);
  if (issuer !== null) fault('issuer', issuer);
  if (!settings.scopes.includes('openid')) fault('scopes', 'must contain openid');
  if (settings.defaultRole !== null && settings.emailDomains.length === 0)
    fault('defaultRole', 'allows everyone whom the provider knows: allow only some mail domains, or map groups');
  if (settings.groupRoles.length > 0 && settings.groupsClaim === null) fault('groupsClaim', 'is needed to map groups');
  if (settings.defaultRole === null && settings.groupRoles.length === 0)
    fault('groupRoles', 'are needed without a default role: otherwise no one can sign in');
  if (settings.required && !settings.enabled) fault('required', 'needs single sign-on to be switched on');
  return faults;
}

function issuerFault(issuer: string, guard: Guard): string | null {
  const url = URL.parse(issuer);
  if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '' || url.hash !== '')
    return 'must be a URL with https, such as https://login.example.com';
  if (!guard.ports.includes(Number(url.port || 443))) return `must have one of the ports ${guard.ports.join(', ')}`;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !guard.isAllowed(host) ? 'must have a public address' : null;
}

const rolesIn = ({ groupRoles, defaultRole }: Settings): Role[] => [
  ...groupRoles.map(({ role }) => role),
  ...(defaultRole === null ? [] : [defaultRole]),
];

async function requireEmergencyAdmin(tx: Db, accountId: number, id: number | null): Promise<void> {
  const user = id === null ? undefined : await findUser(tx, { accountId, id });
  if (user?.role !== 'admin')
    throw invalidFields([
      {
        field: 'emergencyUserId',
        message: 'must be an admin of the account, whose password signs in when the provider fails',
      },
    ]);
}

/** Returns true if a trial of the earlier settings is not valid for the new ones. */
const isOtherTrial = (before: SettingsRow, settings: Settings): boolean =>
  settings.clientSecret !== undefined || JSON.stringify(triedOf(before)) !== JSON.stringify(triedOf(settings));

const triedOf = (settings: Omit<Settings, 'clientSecret'>) => [
  settings.issuer,
  settings.clientId,
  settings.scopes,
  settings.groupsClaim,
  settings.groupRoles.map(({ group, role }) => [group, role]),
  settings.defaultRole,
  settings.emailDomains.toSorted(),
];

const isTried = (before: SettingsRow | undefined, version: number): boolean =>
  before?.lastTrial?.version === version && before.lastTrial.problem === null;

const shownIn = ({ clientSecret, ...settings }: Settings) => ({
  ...settings,
  ...(clientSecret !== undefined && { clientSecret: clientSecret === null ? 'removed' : 'replaced' }),
});

/** Returns the TXT record with which the account with this token proves a domain. */
export const recordOf = (domain: string, token: string) => ({
  type: 'TXT' as const,
  name: `_heliograph-challenge.${domain}`,
  value: `heliograph-domain-verification=${token}`,
});

type Proven = { readonly token: string; readonly provenDomains: string[] };

type DomainDeps = { readonly pool: Pool; readonly resolveTexts: ResolveTexts };

/**
 * Proves a domain of the actor's account by its record in DNS, and returns it. An account that has proven the domain
 * before keeps it as long as its own record is there, too, and loses it otherwise. Errors: 404 unless the account names
 * the domain, 409 without the record or when another account keeps the domain, 502 when no name server responds.
 */
export async function proveDomain({ pool, resolveTexts }: DomainDeps, actor: Actor, domain: string): Promise<Proven> {
  const settings = await findSettings(tenant(pool, actor), actor);
  if (!settings?.emailDomains.includes(domain)) throw new AppError('not_found');
  const { name, value } = recordOf(domain, settings.token);
  const values = await resolveTexts(name).catch((cause: unknown) => {
    throw new AppError('bad_gateway', {
      message: `No name server responds for ${name}: ${describeFault(cause)}`,
      cause,
    });
  });
  if (!values.includes(value))
    throw new AppError('conflict', {
      message: `${name} has no TXT record with this value: a new record can take an hour to become visible`,
    });
  // Runs with the rights of the program: the proof may be that of another account.
  await transaction(pool, async (tx) => {
    const holder = await findHolderForUpdate(tx, { domain });
    if (holder?.accountId === actor.accountId) return;
    if (holder) {
      if (values.includes(recordOf(domain, holder.token).value)) throw isHeld();
      await revoke(tx, holder.accountId, domain);
    }
    // 0 as well if another account was faster.
    if ((await insertProof(tx, { accountId: actor.accountId, domain })) === 0) throw isHeld();
    await recordAudit(tx, actor, eventOf(actor.accountId, { domain, proven: true }));
  });
  return { token: settings.token, provenDomains: [domain] };
}

async function revoke(tx: Db, accountId: number, domain: string): Promise<void> {
  await deleteProof(tx, { accountId, domain });
  await recordAudit(tx, systemAuthor(accountId), eventOf(accountId, { domain, proven: false }));
}

const eventOf = (accountId: number, detail: { readonly domain: string; readonly proven: boolean }) => ({
  action: 'account.single-sign-on',
  ...subjectOf(accountId),
  detail,
});

const isHeld = (): AppError =>
  new AppError('conflict', {
    message: 'Another account has proven this domain, and its record is still there: remove that record first',
  });

/** Registers `single-sign-on optional` and `single-sign-on remove`, for accounts that no user can sign in to. */
export function registerSingleSignOnCommands(program: Command, context: CommandContext): void {
  const command = program.command('single-sign-on').description('single sign-on of accounts (OpenID Connect)');
  command
    .command('optional')
    .argument('<account>', 'name or id')
    .description('let passwords sign in again, for an account whose provider fails')
    .action(async (reference: string) =>
      context.report(
        await change(context, reference, (tx, author) => makeOptional(tx, author)),
        ({ name }) => `Passwords sign in to ${name}.`,
      ),
    );
  command
    .command('remove')
    .argument('<account>', 'name or id')
    .description('remove the settings, for example to free a short name or a mail domain; the users stay')
    .action(async (reference: string) =>
      context.report(
        await change(context, reference, (tx, author) => removeSettings(tx, author)),
        ({ name }) => `${name} has no single sign-on.`,
      ),
    );
}

type Work = (tx: Parameters<typeof removeSettings>[0], author: ReturnType<typeof operatorAuthor>) => Promise<unknown>;

const change = (context: CommandContext, reference: string, work: Work) =>
  context.withDatabase(async (pool) => {
    const { id: accountId, name } = await findAccount(pool, { reference });
    await transaction(pool, (tx) => work(tx, operatorAuthor(accountId)));
    return { accountId, name };
  });
