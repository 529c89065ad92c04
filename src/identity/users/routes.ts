import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, pageOf, PageOf, PageQuery } from '../../platform/http/page.ts';
import { addUser } from './add.ts';
import { changeOwnPassword } from './change-own-password.ts';
import { changeUser } from './change.ts';
import { removeUser } from './change.ts';
import { toUserOut, PasswordIn, UserId, UserIn, UserOut, UserPatch } from './schema.ts';
import { countUsers, findUser, listUsers } from './sql.ts';

const PATH = '/api/partner-gateway/v1/users';
const tags = ['Account'];

/**
 * The people of the caller's account. All need the scope `keys`, which owners and admins have, but for one's own
 * password; a foreign id answers as an unknown one.
 */
export function userRoutes(app: App, { pool, answers, checkPassword }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listUsers',
      summary: 'The people of the account, oldest first',
      querystring: PageQuery,
      response: { 200: PageOf(UserOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const { accountId } = actor;
      const page = { accountId, limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listUsers(db, page), countUsers(db, { accountId })]);
      return pageOf(query, rows.map(toUserOut), total);
    },
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'createUser',
      summary: 'Make a person who signs in with a password',
      description: 'Only an owner makes owners, and nobody gives a scope that they lack (403). A taken name is 409.',
      body: UserIn,
      response: { 201: UserOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      toUserOut(await addUser(tx, actor, body)),
    ),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: { tags, operationId: 'findUser', summary: 'One person', params: UserId, response: { 200: UserOut } },
    handler: async ({ actor, params }) => {
      const user = await findUser(tenant(pool, actor), { accountId: actor.accountId, id: params.id });
      if (!user) throw new AppError('not_found');
      return toUserOut(user);
    },
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateUser',
      summary: "Change a person's role or password",
      description: 'Fields that are left out stay. Only an owner changes owners (403); the last owner stays one (409).',
      params: UserId,
      body: UserPatch,
      response: { 200: UserOut },
    },
    handler: async ({ actor, params, body }) =>
      toUserOut(await tenantTransaction(pool, actor, (tx) => changeUser(tx, actor, { ...body, ...params }))),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteUser',
      summary: 'Remove a person; the keys that they made are revoked',
      description: 'Only an owner removes owners (403); the last owner stays (409).',
      params: UserId,
      response: { 204: Type.Null({ description: 'Removed' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeUser(tx, actor, params));
      return reply.code(204).send(null);
    },
  });

  app.put(`${PATH}/me/password`, {
    schema: {
      tags,
      operationId: 'changeOwnPassword',
      summary: 'Change your own password, with the current one',
      description:
        'For people of every role. A key has no password (403). All their sessions end but the one that asks.',
      body: PasswordIn,
      response: { 204: Type.Null({ description: 'Changed' }) },
    },
    handler: async ({ actor, body, ip }, reply) => {
      await changeOwnPassword({ pool, checkPassword }, actor, { ...body, ip });
      return reply.code(204).send(null);
    },
  });
}
