import type { Client } from '../../test/support/client.ts';
import { type Expected, isSigned } from './compare.ts';
import type { SeveralEvent } from './receivers.ts';

type Wanted = {
  readonly eventTypes: readonly string[];
  readonly filters?: object;
  /** True for an event that the endpoint is to get. */
  readonly gets: (code: number) => boolean;
};

/** The code of the event that the gateway has accepted a message, which only these endpoints get. */
const TAKEN = 0;
const isFailure = (code: number): boolean => code !== TAKEN && code !== 1 && code !== 3;

/** The endpoints of one account, by the ends of their URLs. All numbers are Italian. */
const ENDPOINTS: Readonly<Record<string, Wanted>> = {
  all: { eventTypes: ['message.*'], gets: () => true },
  delivered: { eventTypes: ['message.delivered'], gets: (code) => code === 3 },
  failures: { eventTypes: ['message.*'], filters: { failedOnly: true, countries: ['IT'] }, gets: isFailure },
  abroad: { eventTypes: ['message.*'], filters: { countries: ['DE'] }, gets: () => false },
  dead: { eventTypes: ['message.*'], gets: () => true },
};
const LIVING = Object.entries(ENDPOINTS).filter(([name]) => name !== 'dead');

/** Adds the endpoints to an account; returns their secrets. */
export async function addEndpoints(client: Client, urlOf: (name: string) => string): Promise<Record<string, string>> {
  const secrets: Record<string, string> = {};
  for (const [name, { eventTypes, filters = {} }] of Object.entries(ENDPOINTS)) {
    const body = { url: urlOf(name), eventTypes, filters };
    const answer = await client.request('POST', '/api/partner-gateway/v1/webhooks/endpoints', { body });
    if (answer.status !== 201) throw new Error(`returned ${answer.status}: ${JSON.stringify(answer.body)}`);
    secrets[name] = (answer.body as { secret: string }).secret;
  }
  return secrets;
}

/** Returns the codes of the events of a message, in order, for endpoints and feeds. */
export const codesOf = ({ codes }: Expected): readonly number[] => [TAKEN, ...codes];

/** Counts the events that the living endpoints are to get. */
export const countWanted = (expected: readonly Expected[]): number =>
  LIVING.reduce((sum, [, { gets }]) => sum + expected.flatMap((one) => codesOf(one).filter(gets)).length, 0);

type Body = {
  readonly id: string;
  readonly data: { readonly messageId: string; readonly status: { readonly code: number } };
};

/** Compares what each endpoint accepted with what its types and filters say. */
export function compareSeveral(
  expected: readonly Expected[],
  received: readonly SeveralEvent[],
  secrets: Readonly<Record<string, string>>,
) {
  const ids = new Map<string, Set<string>>();
  /** Events of each endpoint in the order in which it accepted them first. */
  const accepted = new Map<string, Set<string>>();
  let unsigned = 0;
  for (const { endpoint, acknowledged, request } of received) {
    const { id, data }: Body = JSON.parse(request.body);
    const event = `${data.messageId}/${data.status.code}`;
    ids.set(event, (ids.get(event) ?? new Set()).add(id).add(request.headers['webhook-id'] ?? ''));
    if (!isSigned(request, secrets[endpoint] ?? '')) unsigned++;
    if (!acknowledged) continue;
    accepted.set(endpoint, (accepted.get(endpoint) ?? new Set()).add(event));
  }
  let missing = 0;
  let unwanted = 0;
  let outOfOrder = 0;
  for (const [name, { gets }] of LIVING) {
    const wanted = new Set(
      expected.flatMap((one) =>
        codesOf(one)
          .filter(gets)
          .map((code) => `${one.messageId}/${code}`),
      ),
    );
    const told = [...(accepted.get(name) ?? [])];
    missing += wanted.difference(new Set(told)).size;
    unwanted += told.filter((event) => !wanted.has(event)).length;
    const first = new Map(told.map((event, n) => [event, n]));
    for (const one of expected) {
      const places = codesOf(one).flatMap((code) => first.get(`${one.messageId}/${code}`) ?? []);
      if (places.some((place, n) => place < (places[n - 1] ?? -1))) outOfOrder++;
    }
  }
  return {
    missing,
    unwanted,
    outOfOrder,
    unsigned,
    withSeveralIds: [...ids.values()].filter((set) => set.size > 1).length,
  };
}
