import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireCredentials, requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { preparedTx } from '../../platform/http/idempotency.ts';
import { removalTx } from '../../platform/http/removal.ts';
import { offsetOf, pageOf, PageOf, PageQuery } from '../../platform/http/page.ts';
import { addUser } from './add.ts';
import { changeOwnPassword } from './change-own-password.ts';
import { changeUser, removeUser } from './change.ts';
import { hashed } from './password.ts';
import { toUserOut, PasswordIn, UserId, UserIn, UserOut, UserPatch } from './schema.ts';
import { countUsers, findUser, listUsers } from './sql.ts';
import { withExamples } from '../../platform/http/schema.ts';

const PATH = '/api/partner-gateway/v1/users';
const tags = ['Account'];

/**
 * Registers the routes for the users of the caller's account. All but changing one's own password need the scope
 * `keys`, which admins have; a foreign id gets the same response as an unknown one.
 */
export function userRoutes(app: App, { pool, answers, checkPassword }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listUsers',
      summary: 'List the users of the account, oldest first',
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
    config: { stepUp: true, takesTurns: true },
    schema: {
      tags,
      operationId: 'createUser',
      summary: 'Create a user',
      description:
        'The user signs in with a password. Callers cannot grant rights that they lack (403). A username that is ' +
        'taken is 409.',
      body: withExamples(UserIn, { username: 'grace@example.com', password: 'correct horse battery', role: 'manager' }),
      response: { 201: UserOut },
    },
    handler: preparedTx(
      { pool, answers },
      201,
      ({ actor, body }) => hashed(body.password, { by: actor.accountId }),
      async ({ actor, body }, tx, secret) => toUserOut(await addUser(tx, actor, { ...body, ...secret })),
    ),
  });

  app.get(`${PATH}/:id`, {
    onRequest,
    schema: { tags, operationId: 'findUser', summary: 'Get a user', params: UserId, response: { 200: UserOut } },
    handler: async ({ actor, params }) => {
      const user = await findUser(tenant(pool, actor), { accountId: actor.accountId, id: params.id });
      if (!user) throw new AppError('not_found');
      return toUserOut(user);
    },
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'updateUser',
      summary: "Change a user's role or password",
      description:
        'Omitted fields are unchanged. Callers cannot change a user with rights that they lack, or grant such ' +
        'rights (403), and the last admin cannot get another role (409).',
      params: UserId,
      body: withExamples(UserPatch, { role: 'sender' }),
      response: { 200: UserOut },
    },
    handler: async ({ actor, params, body: { role, password } }) => {
      const newPassword = password === undefined ? undefined : await hashed(password, { by: actor.accountId });
      const change = { ...params, role, newPassword };
      return toUserOut(await tenantTransaction(pool, actor, (tx) => changeUser(tx, actor, change)));
    },
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'deleteUser',
      summary: 'Remove a user and revoke the keys that they made',
      description:
        'Callers cannot remove a user with rights that they lack (403), and the last admin cannot be removed (409).',
      params: UserId,
      response: { 204: Type.Null({ description: 'Removed' }) },
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => removeUser(tx, actor, params)),
  });

  app.put(`${PATH}/me/password`, {
    onRequest: requireCredentials(),
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'changeOwnPassword',
      summary: 'Change your own password',
      description:
        'For users of every role; keys have no password (403). Needs the current password. All your sessions end except ' +
        'the one that makes this request.',
      body: withExamples(PasswordIn, { currentPassword: 'correct horse battery', newPassword: 'staple battery horse' }),
      response: { 204: Type.Null({ description: 'Changed' }) },
    },
    handler: async ({ actor, body, ip }, reply) => {
      await changeOwnPassword({ pool, checkPassword }, actor, { ...body, ip });
      return reply.code(204).send(null);
    },
  });
}
