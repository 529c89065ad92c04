import type { Pool } from 'pg';
import { limitOfKeys } from '../accounts/accounts.ts';
import { idFrom, newId } from '../core/ids.ts';
import type { RateLimiter } from '../core/limits.ts';
import type { Log } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import type { Accept } from '../messages/accept.ts';
import type { Draft } from '../messages/read-send.ts';
import {
  type Address,
  type AnyPduOf,
  EMPTY_MESSAGE,
  type Message,
  type Pdu,
  type PduOf,
  withoutBody,
} from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { NO_TLVS, readText } from '../smpp/wire.ts';
import { type Asker, createMessageIds } from './message-ids.ts';
import { CLIENT_ID_TAG, readSubmit, senderOf, statusOfError, statusOfVerdict, submitterOf } from './read-submit.ts';
import type { Request } from './session.ts';
import type { Client } from './sign-in.ts';
import { createStoredRequests } from './stored.ts';

export type RequestDeps = {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  readonly limiter: RateLimiter;
  /** The tags of optional parameters that are passed on to carriers. */
  readonly passedTags: ReadonlySet<number>;
  readonly log: Log;
};

type Submit = AnyPduOf<'submit_sm' | 'data_sm'>;

/**
 * Creates the handler for the requests of clients. Messages go the same way as those over HTTP (`accept.one`), and a
 * submit_sm_resp is sent when they are committed. The promise never rejects: a failure is a status that means "try
 * again".
 */
export function createRequests(deps: RequestDeps): (asker: Asker, request: Request) => Promise<Pdu> {
  const { accept, clock, limiter, passedTags, log } = deps;
  const ids = createMessageIds(deps);
  const { query, cancel, replace } = createStoredRequests({ ...deps, ids });

  async function answer(asker: Asker, request: Request): Promise<Pdu> {
    if (request.command === 'submit_multi') return submitMulti(asker, request);
    if (!take(asker.client, 1)) return refused(request, STATUS.ESME_RTHROTTLED);
    switch (request.command) {
      case 'submit_sm':
      case 'data_sm':
        return submit(asker, request);
      case 'query_sm':
        return query(asker, request);
      case 'cancel_sm':
        return cancel(asker, request);
      case 'replace_sm':
        return replace(asker, request);
    }
  }

  async function submit(asker: Asker, request: Submit): Promise<Pdu> {
    const { client } = asker;
    const by = submitterOf(client, await ids.next(asker));
    const read = readSubmit(messageOf(request), by, { now: clock.now(), passedTags });
    if ('status' in read) return refused(request, read.status);
    const verdict = await accept.one(senderOf(client), read.draft);
    if (verdict.kind !== 'accepted') return refused(request, statusOfVerdict(verdict));
    const messageId = await ids.told(asker, by.shown, { ...read.draft, messageId: verdict.messageId });
    return { command: `${request.command}_resp`, status: 0, sequence: request.sequence, messageId, tlvs: NO_TLVS };
  }

  async function submitMulti(asker: Asker, request: PduOf<'submit_multi'>): Promise<Pdu> {
    const { client } = asker;
    const { destinations } = request;
    if (destinations.length === 0) return refused(request, STATUS.ESME_RINVNUMDESTS);
    // It would be throttled forever.
    if (client.rate !== null && destinations.length > client.rate.perSecond)
      return refused(request, STATUS.ESME_RINVNUMDESTS);
    if (!take(client, destinations.length)) return refused(request, STATUS.ESME_RTHROTTLED);
    // Each destination has a separate message; their receipts name the id of the response.
    const groupId = groupIdOf(client, request);
    const shown = await ids.next(asker);
    const by = submitterOf(client, { ...shown, of: () => shown.of(groupId) });
    const now = clock.now();
    const read = destinations.map((destination) =>
      'list' in destination
        ? { status: STATUS.ESME_RINVDLNAME }
        : readSubmit(messageTo(request, destination), by, { now, passedTags }),
    );
    const drafts = read.flatMap((one, at) => ('draft' in one ? [inGroup(one.draft, at)] : []));
    const verdicts = drafts.length > 0 ? await accept.many(senderOf(client), drafts) : [];
    let next = 0;
    const statuses = read.map((one) => {
      if ('status' in one) return one.status;
      const verdict = verdicts[next++];
      return verdict ? statusOfVerdict(verdict) : STATUS.ESME_RSYSERR;
    });
    if (!statuses.includes(STATUS.ESME_ROK)) return refused(request, statuses[0] ?? STATUS.ESME_RSUBMITFAIL);
    const unsuccessful = destinations.flatMap((destination, i) => {
      const errorStatus = statuses[i] ?? STATUS.ESME_RSYSERR;
      const address = 'list' in destination ? { ton: 0, npi: 0, address: destination.list } : destination;
      return errorStatus === STATUS.ESME_ROK ? [] : [{ ...address, errorStatus }];
    });
    const [first = groupId] = verdicts.flatMap((verdict) => (verdict.kind === 'accepted' ? [verdict.messageId] : []));
    const clientId = drafts[0]?.clientId ?? null;
    const messageId = await ids.told(asker, by.shown, { clientId, messageId: first });
    return {
      command: 'submit_multi_resp',
      status: 0,
      sequence: request.sequence,
      messageId,
      unsuccessful,
      tlvs: NO_TLVS,
    };
  }

  /**
   * Counts requests against the rate of the client and that of its account, messages of a submit_multi each; none when
   * there is no room for all.
   */
  function take(client: Client, count: number): boolean {
    const { accountId, id, rate } = client;
    const own = { name: `${accountId}/${id}`, rate };
    const taken: string[] = [];
    for (const limit of Array.from({ length: count }, () => [own, limitOfKeys(client)]).flat()) {
      if (limit.rate === null) continue;
      if (limiter.take(limit.name, limit.rate).allowed) taken.push(limit.name);
      else {
        taken.forEach(limiter.refund);
        return false;
      }
    }
    return true;
  }

  return (asker, request) =>
    answer(asker, request).catch((err: unknown) => {
      const status = statusOfError(err);
      log.warn({ err, command: request.command, accountId: asker.client.accountId }, 'an SMPP request failed');
      return refused(request, status);
    });
}

const refused = ({ command, sequence }: Request, status: number): Pdu =>
  withoutBody({ command: `${command}_resp`, status, sequence });

/** Returns the message of a request: a data_sm has the fields of a submit_sm that its message needs. */
const messageOf = (request: Submit): Message =>
  request.command === 'submit_sm' ? request : { ...EMPTY_MESSAGE, ...request };

const messageTo = (request: PduOf<'submit_multi'>, { ton, npi, address }: Address): Message => ({
  ...request,
  destTon: ton,
  destNpi: npi,
  destination: address,
});

/** Derives the id of the response from the client's own id, so that a repeated submit_multi gets the same one. */
function groupIdOf({ accountId }: Client, { tlvs }: PduOf<'submit_multi'>): string {
  const clientId = readText(tlvs, CLIENT_ID_TAG) ?? '';
  return clientId === '' ? newId() : idFrom(`submit_multi/${accountId}/${clientId}`);
}

const inGroup = (draft: Draft, at: number): Draft => ({
  ...draft,
  // One id for several messages would make all but the first a repeat.
  clientId: draft.clientId === null ? null : `${draft.clientId}/${at}`,
});
