import type { Probed } from '../http/link.ts';
import { errorIn, type GraphAnswer, type GraphClient } from './client.ts';
import { classOf, classOfHttp, explain } from './errors.ts';

/** Checks that the API is reachable and accepts our token, by a request that sends nothing. Never rejects. */
export async function probeApi(client: GraphClient): Promise<Probed> {
  const { wabaId } = client.settings;
  return stateOf(await client.call({ method: 'GET', path: `/${wabaId}/phone_numbers?fields=id&limit=1` }));
}

/**
 * Interprets the response to a probe. Any API response except one about the token is good enough: a token may be
 * allowed to send but not to read the account.
 */
function stateOf(answer: GraphAnswer): Probed {
  if (answer.kind === 'failed') return { state: 'unreachable', text: answer.reason };
  const error = errorIn(answer.json);
  const text = error ? explain(error) : `The API answered ${answer.status}`;
  if (answer.status === 200) return { state: 'available', text };
  const { act } = error ? classOf(error, answer.status) : classOfHttp(answer.status);
  if (act === 'token') return { state: 'refused', text };
  return { state: error ? 'available' : 'unreachable', text };
}
