import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { canonicalAddress } from '../../../platform/lib/address.ts';
import { changeAllowList, changeSecondFactorPolicy } from './change.ts';
import { SecurityIn, SecurityOut } from './schema.ts';
import { findAllowList, findSecondFactorPolicy } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const PATH = '/api/partner-gateway/v1/account/security';
const tags = ['Account'];

/** Registers the routes for the account's allow-list and its policy on second factors. They need the scope `keys`. */
export function securityRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'getAccountSecurity',
      summary: 'Get the security settings of the account',
      description: 'The addresses from which the account may be used, and whether users need a second factor.',
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, ip }) => {
      const db = tenant(pool, actor);
      const [list, policy] = await Promise.all([findAllowList(db, actor), findSecondFactorPolicy(db, actor)]);
      if (!list || !policy) throw new AppError('not_found');
      const { secondFactor } = policy;
      return { ...list, secondFactor, callerAddress: canonicalAddress(ip) ?? ip };
    },
  });

  app.put(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'putAccountSecurity',
      summary: 'Change the security settings of the account',
      description:
        'The addresses from which the account may be used, effective with the next request. An IPv4-mapped IPv6 address ' +
        'counts as its IPv4 address. Behind a proxy, the address is the one that the trusted proxies saw. A list that does ' +
        'not contain your own address is 400 unless `force` is true. `secondFactor` is unchanged if it is omitted; ' +
        'requiring a second factor that you do not have yourself is 409.',
      body: withExamples(SecurityIn, { ipAllowList: ['127.0.0.1', '::1', '203.0.113.0/24'], enforced: false }),
      response: { 200: SecurityOut },
    },
    handler: async ({ actor, body, ip }) => {
      const input = { ...body, force: body.force === true, ip };
      return tenantTransaction(pool, actor, async (tx) => {
        const { secondFactor } = body;
        if (secondFactor) await changeSecondFactorPolicy(tx, actor, { secondFactor });
        const changed = await changeAllowList(tx, actor, input);
        const policy = await findSecondFactorPolicy(tx, actor);
        if (!policy) throw new AppError('not_found');
        return { ...changed, secondFactor: policy.secondFactor, callerAddress: canonicalAddress(ip) ?? ip };
      });
    },
  });
}
