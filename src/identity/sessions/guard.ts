import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { AppError } from '../../platform/errors.ts';
import { stepUpError } from './step-up.ts';

/** The only operations open to a user who must still add the second factor that the account requires. */
export const ENROLMENT_OPERATIONS: ReadonlySet<string> = new Set([
  'findSession',
  'signOut',
  'stepUp',
  'beginStepUpPasskey',
  'listSecondFactors',
  'beginTotp',
  'confirmTotp',
  'beginPasskey',
  'addPasskey',
]);

/**
 * Rejects requests of a session that must prove itself first with 403 and an error code that the console understands:
 * `second_factor_required`, or `step_up_required` on routes with `config.stepUp`. Keys and passwords have scopes
 * instead and are not affected. Register it after `authentication`, next to the routes.
 */
export const sessionGuard = fp(
  (app, _options, ready) => {
    app.addHook('onRequest', (request, _reply, done) => done(refusalOf(request)));
    ready();
  },
  { name: 'session-guard', fastify: '5.x' },
);

type Request = {
  readonly actor?: FastifyRequest['actor'];
  readonly routeOptions: {
    readonly schema?: { readonly operationId?: string };
    readonly config: { readonly stepUp?: unknown };
  };
};

function refusalOf({ actor, routeOptions }: Request): AppError | undefined {
  if (!actor?.session) return undefined;
  const { schema, config } = routeOptions;
  const mayEnrol = ENROLMENT_OPERATIONS.has(schema?.operationId ?? '');
  if (actor.session.mustEnrol && !mayEnrol) return new AppError('second_factor_required');
  return config.stepUp === true ? stepUpError(actor) : undefined;
}
