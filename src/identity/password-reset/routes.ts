import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { ErrorOut, ref, withExamples } from '../../platform/http/schema.ts';
import { requireSameOrigin } from '../../platform/http/same-origin.ts';
import { createDoorLimit } from '../open-door.ts';
import { confirmReset } from './confirm.ts';
import { ResetIn, ResetRequestIn, TOKEN_EXAMPLE } from './schema.ts';
import { insertResetRequest } from './sql.ts';

const PATH = '/api/partner-gateway/v1/password-reset';
const REQUESTS_PER_MINUTE = 10;

/** Registers the routes for a forgotten password. They need no credentials. */
export function passwordResetRoutes(app: App, { config, pool }: PlatformDeps): void {
  const limit = createDoorLimit(REQUESTS_PER_MINUTE);
  const common = { tags: ['Sessions'], security: [] };
  const errors = { 400: ref(ErrorOut), 403: ref(ErrorOut), 409: ref(ErrorOut), 429: ref(ErrorOut) };

  app.post(PATH, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'requestPasswordReset',
      summary: 'Request a mail with a link to a new password',
      description:
        'For pages of the console, like signing in. The response is the same, and takes the same time, whether ' +
        'there is such a user. The username must be an email address; other users ask an administrator. At most ' +
        'three mails an hour for each address. 409 if the gateway has no mail server.',
      body: withExamples(ResetRequestIn, { username: 'grace@example.com', language: 'en' }),
      response: { 202: Type.Null({ description: 'Received' }), ...errors },
    },
    handler: async ({ ip, body }, reply) => {
      limit(ip);
      if (config.mail === undefined)
        throw new AppError('conflict', { message: 'This gateway sends no mails: ask an administrator for a link' });
      const username = body.username.trim().toLowerCase();
      await insertResetRequest(pool, { username, language: body.language ?? 'en' });
      return reply.code(202).send(null);
    },
  });

  app.post(`${PATH}/confirm`, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'resetPassword',
      summary: 'Choose a new password with a link',
      description:
        'The link works once, within one hour (400 otherwise). All sessions of the user end; second factors stay.',
      body: withExamples(ResetIn, { token: TOKEN_EXAMPLE, password: 'staple battery horse' }),
      response: { 204: Type.Null({ description: 'Changed' }), ...errors },
    },
    handler: async ({ ip, body }, reply) => {
      limit(ip);
      await confirmReset(pool, { ...body, ip });
      return reply.code(204).send(null);
    },
  });
}
