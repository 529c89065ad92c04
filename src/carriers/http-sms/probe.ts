import type { HttpAnswer, HttpClient, HttpRequest } from '../http/client.ts';
import type { Probed } from '../http/link.ts';

/**
 * Finds out whether the carrier is there, by a request that sends nothing. Any answer is good enough, except 401 where the
 * request has the credentials: keys may be allowed to send and nothing else. Never rejects.
 */
export async function probeCarrier(
  http: HttpClient,
  request: HttpRequest,
  { probePath }: { readonly probePath?: string | undefined },
): Promise<Probed> {
  return probedBy(await http.request({ ...request, timeoutMs: PROBE_MS }), probePath !== undefined);
}

const PROBE_MS = 10_000;

/** Returns what an answer to a probe means. */
function probedBy(answer: HttpAnswer, hasCredentials: boolean): Probed {
  // A page that is too long is an answer, too.
  if (answer.kind === 'failed')
    return { state: answer.tooLarge === true ? 'available' : 'unreachable', text: answer.reason };
  const text = `The carrier answered ${answer.status}`;
  if (answer.status === 401 && hasCredentials)
    return { state: 'refused', text: `${text}: the credentials are not valid` };
  return { state: answer.status >= 500 ? 'unreachable' : 'available', text };
}
