import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { canonicalAddress } from '../../../platform/lib/address.ts';
import { changeAllowList } from './change.ts';
import { SecurityIn, SecurityOut } from './schema.ts';
import { findAllowList } from './sql.ts';

const PATH = '/api/partner-gateway/v1/account/security';
const tags = ['Account'];

/** Registers the routes for the account's allow-list (contract 12). They need the scope `keys`. */
export function securityRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'getAccountSecurity',
      summary: 'Get the allow-list of the account',
      description: 'The addresses from which the account may be used.',
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, ip }) => {
      const found = await findAllowList(tenant(pool, actor), { accountId: actor.accountId });
      if (!found) throw new AppError('not_found');
      return { ...found, callerAddress: canonicalAddress(ip) ?? ip };
    },
  });

  app.put(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'putAccountSecurity',
      summary: 'Change the allow-list of the account',
      description:
        'The addresses from which the account may be used, effective with the next request. An IPv4-mapped IPv6 address ' +
        'counts as its IPv4 address. Behind a proxy, the address is the one that the trusted proxies saw. A list that does ' +
        'not contain your own address is 400 unless `force` is true.',
      body: SecurityIn,
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, body, ip }) => {
      const input = { ...body, force: body.force === true, ip };
      const changed = await tenantTransaction(pool, actor, (tx) => changeAllowList(tx, actor, input));
      return { ...changed, callerAddress: canonicalAddress(ip) ?? ip };
    },
  });
}
