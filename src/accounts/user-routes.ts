import { ROLES } from '../core/actor.ts';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';

import { type CommandContext, table } from '../core/cli.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { answerPage, type App, PageOf, PageQuery, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireCredentials, requireScope } from '../core/http/auth.ts';
import { preparedTx } from '../core/http/idempotency.ts';
import { displayName, id } from '../core/schema.ts';
import { operatorAuthor } from './audit.ts';
import { registerInviteCommands } from './invitation-routes.ts';
import { hashed } from './password.ts';
import { registerResetCommands } from './password-reset.ts';
import {
  addUser,
  changeOperator,
  changeOwnName,
  changeOwnPassword,
  changeUser,
  findUser,
  findUserByUsername,
  listOperators,
  listUsers,
  type OnRemove,
  type OperatorRow,
  removeUser,
  type UserRow,
} from './users.ts';

const Role = Type.Enum([...ROLES], {
  type: 'string',
  description:
    'viewer: reads everything but keys, users and the audit log. sender: sends, replies in the inbox and uploads media; ' +
    'reads campaigns, contacts and the tracking of messages. manager: everything but keys, users, the audit log and ' +
    'security. admin: everything.',
});
const password = (description: string) => Type.String({ minLength: 12, maxLength: 200, description });

const DisplayName = Type.Optional(
  Type.String({ maxLength: 100, description: 'What colleagues call the user; empty to show the username.' }),
);

const UserIn = Type.Object({
  username: Type.String({
    pattern: '^[a-z0-9][a-z0-9._@+-]{0,199}$',
    description: 'Unique on this gateway: lower-case letters, digits and . _ @ + -',
    'x-message': 'must have 1 to 200 lower-case letters, digits and . _ @ + -, starting with a letter or a digit',
  }),
  displayName: DisplayName,
  password: password('At least 12 characters, and not the username.'),
  role: Role,
});

const UserPatch = Type.Object({
  displayName: DisplayName,
  role: Type.Optional(Role),
  password: Type.Optional(password('A new password for another user. For your own, use `PUT /users/me/password`.')),
});

const NameIn = Type.Object({ displayName: Type.String({ maxLength: 100 }) });

const PasswordIn = Type.Object({
  currentPassword: Type.String({ maxLength: 200 }),
  newPassword: password('At least 12 characters, and not the username.'),
});

const UserOut = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  displayName,
  role: Role,
  isOperator: Type.Boolean({
    description: 'True if the user is an operator of the gateway; only operators can change or remove operators.',
  }),
  createdAt: Type.String({ format: 'date-time', description: 'UTC' }),
});

const UserId = Type.Object({ id: id() });

/** Formats a user for responses. */
const toUserOut = (user: UserRow): Static<typeof UserOut> => ({
  id: user.id,
  username: user.username,
  displayName: user.displayName,
  role: user.role,
  isOperator: user.isOperator,
  createdAt: user.createdAt.toISOString(),
});

const PATH = '/api/partner-gateway/v1/users';
const tags = ['Account'];

/**
 * Registers the routes for the users of the caller's account. All but changing one's own name and password need the scope
 * `keys`, which admins have; a foreign id gets the same response as an unknown one.
 */
export function userRoutes(
  app: App,
  { pool, answers, checkPassword, onRemove }: PlatformDeps & { readonly onRemove: OnRemove },
): void {
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
    handler: ({ actor, query }) => answerPage(query, listUsers(tenant(pool, actor), actor, query), toUserOut),
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
      return toUserOut(await existing(findUser(tenant(pool, actor), { accountId: actor.accountId, id: params.id })));
    },
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'updateUser',
      summary: "Change a user's name, role or password",
      description:
        'Omitted fields are unchanged. Callers cannot change a user with rights that they lack, or grant such ' +
        'rights (403), and the last admin cannot get another role (409).',
      params: UserId,
      body: withExamples(UserPatch, { role: 'sender' }),
      response: { 200: UserOut },
    },
    handler: async ({ actor, params, body: { displayName: name, role, password } }) => {
      const newPassword = password === undefined ? undefined : await hashed(password, { by: actor.accountId });
      const change = { ...params, displayName: name?.trim(), role, newPassword };
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
    handler: ({ actor, params }) =>
      tenantTransaction(pool, actor, (tx) => removeUser(tx, actor, { ...params, onRemove })),
  });

  app.put(`${PATH}/me/name`, {
    onRequest: requireCredentials(),
    schema: {
      tags,
      operationId: 'changeOwnName',
      summary: 'Change what colleagues call you',
      description: 'For users of every role; keys have no name (403).',
      body: withExamples(NameIn, { displayName: 'Grace Example' }),
      response: { 204: Type.Null({ description: 'Changed' }) },
    },
    handler: ({ actor, body }) => changeOwnName(pool, actor, body.displayName.trim()),
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
    handler: ({ actor, body, ip }) => changeOwnPassword({ pool, checkPassword }, actor, { ...body, ip }),
  });
}

/** Registers `operator grant`, `operator revoke` and `operator list`. */
export function registerOperatorCommands(program: Command, context: CommandContext): void {
  const operator = program.command('operator').description('users who may manage all accounts in the console');
  const add = (name: string, description: string, isOperator: boolean): void =>
    void operator
      .command(name)
      .argument('<username>', 'username of a user of any account')
      .description(description)
      .action(async (username: string) =>
        context.report(await context.withDatabase((pool) => change(pool, username, isOperator)), showChanged),
      );
  add('grant', 'make a user an operator; applies from their next request', true);
  add('revoke', 'remove the operator right of a user; applies from their next request', false);
  operator
    .command('list')
    .description('list all operators')
    .action(async () => context.report(await context.withDatabase(listOperators), showOperators));
}

async function change(pool: Pool, username: string, isOperator: boolean): Promise<OperatorRow> {
  const user = await findUserByUsername(pool, { username });
  if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
  const { id, accountId } = user;
  await transaction(pool, (tx) => changeOperator(tx, operatorAuthor(accountId), { id, isOperator }));
  return { ...user, isOperator };
}

const showChanged = ({ username, isOperator }: OperatorRow): string =>
  `${username} is ${isOperator ? 'now' : 'no longer'} an operator of the gateway.`;

const showOperators = (operators: readonly OperatorRow[]): string =>
  table(
    ['id', 'username', 'account'],
    operators.map(({ id, username, accountId, accountName }) => [id, username, `${accountName} (${accountId})`]),
  );

/** Registers the command `user` with what operators do for single users. */
export function registerUserCommands(program: Command, context: CommandContext): void {
  const isUser = (command: Command): boolean => command.name() === 'user';
  const user = program.commands.find(isUser) ?? program.command('user').description('users of accounts');
  registerInviteCommands(user, context);
  registerResetCommands(user, context);
}
