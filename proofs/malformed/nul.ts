import { isSchema } from '../lib/routes.ts';
import type { Wire } from './generate.ts';

/**
 * Returns requests that are valid but for the character U+0000 at the end of one text of their JSON body: one for each
 * text of each valid request, with the name of its route.
 */
export function requestsWithNul(validRequests: ReadonlyMap<string, Wire>): [route: string, wire: Wire][] {
  return [...validRequests].flatMap(([route, wire]) =>
    bodiesWithNul(wire).map((body): [string, Wire] => [route, { ...wire, body: JSON.stringify(body) }]),
  );
}

function bodiesWithNul({ body, headers }: Wire): unknown[] {
  if (body === undefined || headers['content-type'] !== 'application/json') return [];
  return variantsOf(JSON.parse(body));
}

/** Returns the value once for each text in it, with U+0000 at the end of that text. */
function variantsOf(value: unknown): unknown[] {
  if (typeof value === 'string') return [`${value}\u0000`];
  if (Array.isArray(value)) return value.flatMap((item, i) => variantsOf(item).map((other) => value.with(i, other)));
  if (!isSchema(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => variantsOf(item).map((other) => ({ ...value, [key]: other })));
}
