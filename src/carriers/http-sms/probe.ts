import type { HttpAnswer, HttpClient, HttpRequest } from '../http/client.ts';
import type { Probed } from '../http/link.ts';

/**
 * Finds out if the carrier is reachable, by a request that sends nothing. Any response counts, except 401 to a request
 * with credentials: keys may be allowed to send and nothing else. Never rejects.
 */
export async function probeCarrier(
  http: HttpClient,
  request: HttpRequest,
  { probePath }: { readonly probePath?: string | undefined },
): Promise<Probed> {
  return probedBy(await http.request({ ...request, timeoutMs: PROBE_MS }), probePath !== undefined);
}

const PROBE_MS = 10_000;

/** Interprets the response to a probe. */
function probedBy(answer: HttpAnswer, hasCredentials: boolean): Probed {
  // A response that is too long is a response, too.
  if (answer.kind === 'failed')
    return { state: answer.tooLarge === true ? 'available' : 'unreachable', text: answer.reason };
  const text = `The carrier answered ${answer.status}`;
  if (answer.status === 401 && hasCredentials)
    return { state: 'refused', text: `${text}: the credentials are not valid` };
  return { state: answer.status >= 500 ? 'unreachable' : 'available', text };
}
