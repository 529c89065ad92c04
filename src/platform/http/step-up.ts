import type { RouteOptions } from 'fastify';
import type { Scope } from '../lib/scope.ts';
import type { App } from './app.ts';
import { accessOf, requirementsOf } from './auth.ts';

/**
 * Step-up rule of a route: true if sessions must have proven within the last ten minutes that their user is there (a
 * browser left open, or a stolen cookie, is not enough). `only` names the affected requests, as in "exports of all
 * contacts"; then the operation itself requires it. `exempt` states why a change by operators, or of keys, users or
 * webhooks, needs none.
 */
export type StepUp = true | { readonly only: string } | { readonly exempt: string };

declare module 'fastify' {
  interface FastifyContextConfig {
    stepUp?: StepUp;
  }
}

/** Scopes with which a thief could keep access, or receive messages, after the cookie has ended. */
const LASTING: ReadonlySet<Scope> = new Set(['keys', 'webhooks']);

/**
 * Makes a step-up the default of every route by which an operator of the gateway changes something, and of those that
 * write within the scopes `keys` (keys, SMPP credentials, users, security) and `webhooks` (everything that is
 * forwarded). A route with its own `config.stepUp` keeps it. Call it before the routes are registered.
 */
export function stepUpByDefault(app: App): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.stepUp === undefined && isDangerous(route)) route.config = { ...route.config, stepUp: true };
  });
}

function isDangerous({ method, onRequest }: RouteOptions): boolean {
  const byMethod = [method].flat().some((each) => accessOf(each) === 'write') ? 'write' : 'read';
  return requirementsOf(onRequest).some((requirement) => {
    if (requirement.kind === 'credentials') return false;
    if (requirement.kind === 'operator') return byMethod === 'write';
    const { scopes, access } = requirement;
    return (access === 'by method' ? byMethod : access) === 'write' && scopes.some((scope) => LASTING.has(scope));
  });
}

export const isExempt = (stepUp: StepUp): stepUp is { readonly exempt: string } =>
  typeof stepUp === 'object' && 'exempt' in stepUp;
