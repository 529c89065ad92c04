import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { removalTx } from '../../platform/http/removal.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, pageOf, PageOf, PageQuery } from '../../platform/http/page.ts';
import { requireSameOrigin } from '../../platform/http/same-origin.ts';
import { ErrorOut, ref, withExamples } from '../../platform/http/schema.ts';
import { createDoorLimit } from '../open-door.ts';
import { acceptInvitation, findInvited } from './accept.ts';
import { invite, resendInvitation, revokeInvitation } from './invite.ts';
import {
  AcceptedOut,
  AcceptIn,
  InvitationId,
  InvitationIn,
  InvitationOut,
  InvitedOut,
  OpenInvitationOut,
  ResendIn,
  toInvitationOut,
  toInvitedOut,
  TokenIn,
  TOKEN_EXAMPLE,
} from './schema.ts';
import { countInvitations, listInvitations } from './sql.ts';

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
    handler: removalTx({ pool }, ({ actor, params }, tx) => revokeInvitation(tx, actor, params)),
  });
}

const ATTEMPTS_PER_MINUTE = 20;

/** Registers the routes for invited people. They need no credentials but the token of the link. */
export function acceptInvitationRoutes(app: App, { pool }: PlatformDeps): void {
  const limit = createDoorLimit(ATTEMPTS_PER_MINUTE);
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
