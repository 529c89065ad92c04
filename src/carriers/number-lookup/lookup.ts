import type { LookupFunction } from 'node:net';
import { createHttpClient, type HttpAnswer } from '../http/client.ts';
import { compilePlace, type Document, type Read, toDocument } from '../http-sms/place.ts';
import { compileRequests } from '../http-sms/request.ts';
import { sharedValues } from '../http-sms/values.ts';
import type { LookupAnswer } from './answer.ts';
import { type LookupSettings, resolveLookup } from './settings.ts';

/** Result of a number lookup. */
export type Found =
  /** The service responded; `network` (MCC and MNC) is null if it knows none. */
  | { readonly kind: 'answered'; readonly network: string | null; readonly ported: boolean | null }
  /** The service did not respond, or not about the number: nothing is known. `reason` is readable. */
  | { readonly kind: 'failed'; readonly reason: string };

export type NumberLookup = {
  /** Looks a number up, in E.164 with its plus; never rejects. */
  find(number: string): Promise<Found>;
  /** Ends lookups in progress as failed. */
  close(): Promise<void>;
};

export type LookupContext = {
  /** Resolves names to addresses that may be dialled. */
  readonly lookup?: LookupFunction;
  /** Returns true if an address that is given instead of a name may be dialled. */
  readonly isAllowed?: (address: string) => boolean;
};

/**
 * Opens a service that knows the networks of numbers, as its settings or their preset describe. A response of 404
 * means that there is no such number, and so no network.
 */
export function createNumberLookup(settings: LookupSettings, apiKey: string, context: LookupContext): NumberLookup {
  const { http: resolved, answer } = resolveLookup(settings);
  const secrets = { apiKey, signingKey: '', callbackToken: '' };
  const requests = compileRequests(resolved, secrets);
  const shared = sharedValues(resolved, secrets, null);
  const read = compileAnswer(answer);
  const http = createHttpClient({
    connections: settings.concurrency,
    connectTimeoutMs: settings.timeoutSeconds * 1000,
    timeoutMs: settings.timeoutSeconds * 1000,
    maxBytes: MAX_ANSWER_BYTES,
    ...context,
  });
  return {
    async find(number) {
      const request = requests.send({ ...shared, to: number, toDigits: number.slice(1) });
      if (request === null) return failed('a header of the request would have characters that it cannot have');
      return foundIn(await http.request(request), read);
    },
    close: http.close,
  };
}

const MAX_ANSWER_BYTES = 64 * 1024;

const failed = (reason: string): Found => ({ kind: 'failed', reason });

type ReadAnswer = (document: Document) => Extract<Found, { kind: 'answered' }>;

function foundIn(answer: HttpAnswer, read: ReadAnswer): Found {
  if (answer.kind === 'failed') return failed(answer.reason);
  if (answer.status === 404) return { kind: 'answered', network: null, ported: null };
  if (answer.status < 200 || answer.status > 299) return failed(`the service answered ${answer.status}`);
  const document = toDocument(answer.body, answer.headers);
  return document.json === undefined && document.text.trim() === '' ? failed('the answer is empty') : read(document);
}

function compileAnswer({ network, mcc, mnc, ported, portedIs = ['true'] }: LookupAnswer): ReadAnswer {
  const at = (place: string | undefined): Read => (place === undefined ? () => '' : compilePlace(place));
  const [readNetwork, readMcc, readMnc, readPorted] = [at(network), at(mcc), at(mnc), at(ported)];
  return (document) => {
    const both = readNetwork(document) || networkOf(readMcc(document), readMnc(document));
    const said = readPorted(document);
    return {
      kind: 'answered',
      network: /^\d{5,6}$/.test(both) ? both : null,
      ported: said === '' ? null : portedIs.includes(said),
    };
  };
}

/** Joins MCC and MNC. Some services write the network code as a number, without its leading zero. */
const networkOf = (mcc: string, mnc: string): string => (mnc === '' ? '' : `${mcc}${mnc.padStart(2, '0')}`);
