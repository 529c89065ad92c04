import type { Site } from './harness.ts';

const PG = '/api/partner-gateway/v1';

/** A campaign by SMS, as far as each needs it. */
export const SMS = { sendingMode: 'SMS', smsSender: 'Acme', smsBody: 'Hello {{firstName|you}}' };

/** Requests of the owner next to the browser; throws if one is refused. */
export async function callOf(
  site: Site,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const answer = await site.program.client.request(method, `${PG}${path}`, body && { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  const isRecord = typeof answer.body === 'object' && answer.body !== null;
  return isRecord ? { ...answer.body } : {};
}

export const idOf = ({ id }: Record<string, unknown>): number => Number(id);

let next = 0;

/** Numbers that were not used before and that the sandbox delivers to: none has an ending for which it fails. */
export const numbers = (count: number): string[] =>
  Array.from({ length: count }, () => `+39333${String(1_000_000 + (next += 11)).slice(0, 7)}`);

/** Calculates and confirms a campaign. */
export async function confirm(site: Site, id: number): Promise<number> {
  await callOf(site, 'POST', `/campaigns/${id}/calculateGoal`);
  await callOf(site, 'PUT', `/campaigns/${id}/confirm`);
  return id;
}
