import { type Command, Option } from 'commander';
import { type Static, Type } from 'typebox';
import { ROLES, type Role, SCOPES } from '../core/actor.ts';
import type { CommandContext } from '../core/cli.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import {
  type App,
  ErrorOut,
  offsetOf,
  PageOf,
  PageQuery,
  type PlatformDeps,
  pageOf,
  ref,
  withExamples,
} from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { requireSameOrigin } from '../core/http/browser.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { LANGUAGES, type Language, language } from '../core/mail.ts';
import { id, instant, orNull } from '../core/schema.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { findAccount } from './accounts.ts';
import { operatorAuthor } from './audit.ts';
import { createAddressLimit } from './authenticate.ts';
import {
  acceptInvitation,
  countInvitations,
  findInvited,
  type InvitationRow,
  type Invited,
  invite,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from './invitations.ts';

const InvitedRole = Type.Enum([...ROLES], { type: 'string' });
const token = Type.String({ maxLength: 100, description: 'The part of the link behind the sign #.' });

const InvitationId = Type.Object({ id: id() });

const InvitationIn = Type.Object({
  email: Type.String({ minLength: 3, maxLength: 200, description: 'Becomes the username, in lower case.' }),
  role: InvitedRole,
  language: Type.Optional(language()),
});

const ResendIn = Type.Object({ language: Type.Optional(language()) });

const fields = {
  id: Type.Integer(),
  email: Type.String(),
  role: InvitedRole,
  invitedBy: orNull(Type.String({ description: 'The user who invited; null: an operator of the gateway.' })),
  createdAt: instant('UTC'),
  sentAt: instant('UTC'),
  expiresAt: instant('UTC. An expired invitation can be sent again.'),
};

const InvitationOut = Type.Object(fields);

const InvitedOut = Type.Object({
  ...fields,
  link: orNull(
    Type.String({ description: 'The link to pass on, if the gateway has no mail server; null: a mail was sent.' }),
  ),
});

const TokenIn = Type.Object({ token });

const AcceptIn = Type.Object({
  token,
  password: Type.String({
    minLength: 12,
    maxLength: 200,
    description: 'At least 12 characters, and not the username.',
  }),
});

const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';

const OpenInvitationOut = Type.Object({
  username: Type.String(),
  accountName: Type.String(),
  role: InvitedRole,
});

const AcceptedOut = Type.Object({ username: Type.String() });

const toInvitationOut = (row: InvitationRow): Static<typeof InvitationOut> => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invitedBy: row.invitedBy,
  createdAt: row.createdAt.toISOString(),
  sentAt: row.sentAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
});

/** Formats an invitation for the response that creates it, with its link. */
const toInvitedOut = ({ link, ...row }: Invited): Static<typeof InvitedOut> => ({
  ...toInvitationOut(row),
  link,
});

const PATH = '/api/partner-gateway/v1/invitations';
const tags = ['Account'];

/** Registers the routes with which admins invite people to their account. They need the scope `keys`. */
export function invitationRoutes(app: App, { config, pool, answers, secretKey }: PlatformDeps): void {
  const onRequest = requireScope('keys');
  const deps = { config, secretKey };

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listInvitations',
      summary: 'List invitations not accepted yet, newest first',
      querystring: PageQuery,
      response: { 200: PageOf(InvitationOut) },
    },
    handler: async ({ actor, query }) => {
      const [db, whose] = [tenant(pool, actor), { accountId: actor.accountId }];
      const page = { ...whose, limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listInvitations(db, page), countInvitations(db, whose)]);
      return pageOf(query, rows.map(toInvitationOut), total);
    },
  });

  app.post(PATH, {
    onRequest,
    config: { secretAnswer: true, stepUp: true },
    schema: {
      tags,
      operationId: 'createInvitation',
      summary: 'Invite a person to the account',
      description:
        'The person gets a mail with a link, valid for seven days, and chooses a password. Without a mail server ' +
        '(SMTP_URL), the response contains the link, for you to pass on. Callers cannot grant rights that they ' +
        'lack (403). A username that is taken, or has an invitation, is 409. An address gets at most 3 mails an ' +
        'hour and 10 a day from all accounts, and an account sends as many in a day as its plan has: 429 with ' +
        'Retry-After.',
      body: withExamples(InvitationIn, { email: 'ada@example.com', role: 'manager', language: 'en' }),
      response: { 201: InvitedOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      toInvitedOut(await invite(deps, tx, actor, { language: 'en', ...body })),
    ),
  });

  app.post(`${PATH}/:id/resend`, {
    onRequest,
    config: { secretAnswer: true, stepUp: true },
    schema: {
      tags,
      operationId: 'resendInvitation',
      summary: 'Send an invitation again, with a new link',
      description: 'The earlier link ends. 429 within five minutes of the last mail, and as for a new invitation.',
      params: InvitationId,
      body: withExamples(ResendIn, { language: 'en' }),
      response: { 200: InvitedOut },
    },
    handler: idempotentTx({ pool, answers }, 200, async ({ actor, params, body }, tx) =>
      toInvitedOut(await resendInvitation(deps, tx, actor, { language: 'en', ...body, ...params })),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    config: { stepUp: { exempt: 'takes access back' } },
    schema: {
      tags,
      operationId: 'revokeInvitation',
      summary: 'Revoke an invitation',
      params: InvitationId,
      response: { 204: Type.Null({ description: 'Revoked' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => revokeInvitation(tx, actor, params)),
  });
}

const ATTEMPTS_PER_MINUTE = 20;

/** Registers the routes for invited people. They need no credentials but the token of the link. */
export function acceptInvitationRoutes(app: App, { pool }: PlatformDeps): void {
  const limit = createAddressLimit(ATTEMPTS_PER_MINUTE);
  const common = { tags: ['Sessions'], security: [] };
  const errors = { 400: ref(ErrorOut), 403: ref(ErrorOut), 409: ref(ErrorOut), 429: ref(ErrorOut) };

  app.post(`${PATH}/open`, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'openInvitation',
      summary: 'Get the invitation of a link',
      body: withExamples(TokenIn, { token: TOKEN_EXAMPLE }),
      response: { 200: OpenInvitationOut, ...errors },
    },
    handler: async ({ ip, body }) => {
      limit(ip);
      const { email: username, accountName, role } = await findInvited(pool, body);
      return { username, accountName, role };
    },
  });

  app.post(`${PATH}/accept`, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'acceptInvitation',
      summary: 'Accept an invitation: choose a password and become a user',
      description: 'The link works once, within seven days (400 otherwise). Sign in afterwards.',
      body: withExamples(AcceptIn, { token: TOKEN_EXAMPLE, password: 'correct horse battery' }),
      response: { 201: AcceptedOut, ...errors },
    },
    handler: async ({ ip, body }, reply) => {
      limit(ip);
      return reply.code(201).send(await acceptInvitation(pool, { ...body, ip }));
    },
  });
}

type Options = { readonly role: Role; readonly language: Language };

/** Registers `user invite`, below the command `user`. */
export function registerInviteCommands(user: Command, context: CommandContext): void {
  user
    .command('invite')
    .argument('<account>', 'name or id')
    .argument('<email>', 'email address, which becomes the username')
    .addOption(new Option('--role <role>', 'role of the user').choices(ROLES).default('viewer'))
    .addOption(new Option('--language <language>', 'language of the mail').choices(LANGUAGES).default('en'))
    .description('invite a person by mail, or print the link if there is no mail server')
    .action(async (reference: string, email: string, options: Options) => {
      context.report(await inviteBy(context, reference, email, options), ({ link }) =>
        link === null ? `A mail to ${email} is on its way.` : `${link}\nThe link works once, within seven days.`,
      );
      context.warnIfLocal('The link of the invitation');
    });
}

const inviteBy = (context: CommandContext, reference: string, email: string, options: Options) =>
  context.withDatabase(async (pool) => {
    const config = context.config();
    const deps = { config, secretKey: await loadSecretKey(config) };
    const { id: accountId } = await findAccount(pool, { reference });
    const author = { ...operatorAuthor(accountId), role: 'admin', operations: new Set(SCOPES) } as const;
    const made = await transaction(pool, (tx) => invite(deps, tx, author, { email, ...options }));
    return { id: made.id, email: made.email, role: made.role, link: made.link };
  });
