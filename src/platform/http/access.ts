import { type Access, type Role, ROLES, roleMay } from '../lib/scope.ts';
import { isExempt, type StepUp } from './step-up.ts';
import { accessOf, type Requirement, requirementsOf } from './auth.ts';

/** The parts of a route that define its access rules. */
type AccessRoute = {
  readonly method: string | string[];
  readonly onRequest?: unknown;
  readonly schema?: { readonly security?: readonly object[] } | undefined;
  readonly config?: { readonly stepUp?: StepUp } | undefined;
};

/** Access rules of a route. */
export type RouteAccess = {
  /**
   * Requirements of the caller: everything in the list. Entries are `contacts:read` (a scope and the access within it),
   * `SMS:read or RCS:read` (one of them), `credentials` (any) and `operator` (of the gateway). It is empty if the route
   * needs no credentials.
   */
  readonly scope: readonly string[];
  /** The roles of users that have all of these; none for routes of operators, which require no role. */
  readonly roles: readonly Role[];
  /** Rule of the route for step-ups of sessions. */
  readonly stepUp: StepUp | undefined;
  /** The same in a few sentences, for readers. */
  readonly text: string;
};

/**
 * Returns the access rules of a route, as its `onRequest` hooks define them. Undefined without such hooks, which is a
 * bug.
 */
export function accessToRoute({ method, onRequest, schema, config }: AccessRoute): RouteAccess | undefined {
  if (schema?.security?.length === 0) return { scope: [], roles: [], stepUp: undefined, text: 'Needs no credentials.' };
  const byMethod = accessOf(String([method].flat()[0]));
  const needs = requirementsOf(onRequest).map((requirement) => toNeed(requirement, byMethod));
  if (needs.length === 0) return undefined;
  const scope = needs.map(({ name }) => name);
  const roles = ROLES.filter((role) => needs.every(({ holds }) => holds(role)));
  const stepUp = config?.stepUp;
  return { scope, roles, stepUp, text: `${describe(needs, roles)}${describeStepUp(stepUp)}` };
}

type Need = { readonly name: string; readonly text: string | null; holds(role: Role): boolean };

function toNeed(requirement: Requirement, byMethod: Access): Need {
  if (requirement.kind === 'operator') return { name: 'operator', text: null, holds: () => false };
  if (requirement.kind === 'credentials') return { name: 'credentials', text: null, holds: () => true };
  const { scopes } = requirement;
  const access = requirement.access === 'by method' ? byMethod : requirement.access;
  return {
    name: scopes.map((scope) => `${scope}:${access}`).join(' or '),
    text: scopes.map((scope) => `\`${scope}\` (${access})`).join(' or '),
    holds: (role) => scopes.some((scope) => roleMay(role, scope, access)),
  };
}

function describe(needs: readonly Need[], roles: readonly Role[]): string {
  if (needs.some(({ name }) => name === 'operator')) return 'For operators of the gateway.';
  const scopes = needs.flatMap(({ text }) => text ?? []);
  return scopes.length === 0
    ? 'Needs any credentials.'
    : `Scope: ${scopes.join(', and ')}. Roles: ${roles.join(', ')}.`;
}

function describeStepUp(stepUp: StepUp | undefined): string {
  if (stepUp === undefined || isExempt(stepUp)) return '';
  return ` Sessions need a step-up${stepUp === true ? '' : ` for ${stepUp.only}`}.`;
}
