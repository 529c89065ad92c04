import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { tenant } from '../../platform/db/tenant.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { describeFault } from '../../platform/outbound/fault.ts';
import type { ResolveTexts } from '../../platform/outbound/resolve.ts';
import { recordAudit, systemAuthor } from '../audit/record.ts';
import { subjectOf } from './change.ts';
import { deleteProof, findHolderForUpdate, findSettings, insertProof } from './sql.ts';

/** Returns the TXT record with which the account with this token proves a domain. */
export const recordOf = (domain: string, token: string) => ({
  type: 'TXT' as const,
  name: `_heliograph-challenge.${domain}`,
  value: `heliograph-domain-verification=${token}`,
});

/** The domain that was proven, and the token of its account. */
type Proven = { readonly token: string; readonly provenDomains: string[] };

type Deps = { readonly pool: Pool; readonly resolveTexts: ResolveTexts };

/**
 * Proves a domain of the actor's account by its record in DNS, and returns it. An account that has proven the domain
 * before keeps it as long as its own record is there, too, and loses it otherwise. Errors: 404 unless the account names
 * the domain, 409 without the record or when another account keeps the domain, 502 when no name server responds.
 */
export async function proveDomain({ pool, resolveTexts }: Deps, actor: Actor, domain: string): Promise<Proven> {
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
