import { createFaultLog } from '../lib/fault-log.ts';
import type { Run } from '../lib/proof.ts';
import { CASES } from '../tenants/cases.ts';
import type { Outcome, Reply } from './exchange.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Checks the responses to all requests, and counts those that should not be. */
export function createJudge(run: Run) {
  const counts = {
    requests: 0,
    ok: 0,
    refused: 0,
    away: 0,
    serverErrors: 0,
    silent: 0,
    unanswered: 0,
    misshapen: 0,
    smuggled: 0,
    rightRefused: 0,
  };
  const reached = new Set<string>();
  const report = createFaultLog(run);

  function countReply(what: string, reply: Reply, route: string | undefined): void {
    if (reply.status < 400) counts.ok++;
    else if (reply.status < 500) counts.refused++;
    else if (isUnavailable(reply)) counts.away++;
    else {
      counts.serverErrors++;
      report(what, `${reply.status} to ${what}: ${reply.body}`);
    }
    if (route !== undefined && isExpected(route, reply.status)) reached.add(route);
    const fault = faultOf(reply);
    if (fault === undefined) return;
    counts.misshapen++;
    report(what, `${fault}, to ${what}: ${reply.body}`);
  }

  return {
    counts,
    reached: (): ReadonlySet<string> => reached,
    /** Counts the responses to a valid request to the route. */
    noteValidAnswer(route: string, { replies }: Outcome): void {
      if (replies.some(({ status }) => isExpected(route, status))) reached.add(route);
    },
    countRefusal({ message }: Error): void {
      counts.rightRefused++;
      report(message, message);
    },
    countAnswers(what: string, { replies, silent }: Outcome, answers: number, route?: string): void {
      counts.requests++;
      if (silent) counts.silent++;
      if (replies.length < answers) counts.unanswered++;
      if (replies.length > answers) counts.smuggled++;
      if (silent || replies.length !== answers) report(what, `${replies.length} responses to ${what}`);
      for (const reply of replies) countReply(what, reply, route);
    },
  };
}

const isExpected = (route: string, status: number): boolean =>
  status < 300 || CASES[route]?.answers?.includes(status) === true;

/**
 * Returns true for a 503 that states when to retry, or that of the health check, for which it is a regular response.
 */
const isUnavailable = ({ status, retryAfter, body }: Reply): boolean =>
  status === 503 && (retryAfter !== '' || body.includes('"checks"'));

/** Returns the error in a response, in its request id or the shape of its error; undefined if there is none. */
function faultOf({ status, requestId, replayed, body }: Reply): string | undefined {
  if (!UUID.test(requestId)) return `the request id is "${requestId}"`;
  // A response to HEAD has no body.
  if (status < 400 || body === '' || body.includes('"checks"')) return undefined;
  const error: unknown = parsed(body);
  if (typeof error !== 'object' || error === null) return 'the error is not JSON';
  const [own, message] = [Reflect.get(error, 'status'), Reflect.get(error, 'message')];
  if (typeof message !== 'string' || message === '') return 'the error has no message';
  if (own === 'error') return Reflect.get(error, 'code') === status ? undefined : 'the code differs from the status';
  if (own !== status || typeof Reflect.get(error, 'error') !== 'string') return 'the error does not hold its status';
  const id = String(Reflect.get(error, 'requestId'));
  return isIdOf(id, requestId, replayed) ? undefined : 'the error holds another request id';
}

/** A replayed response is the first one, byte for byte, so it holds the id of the first request. */
const isIdOf = (id: string, requestId: string, replayed: string): boolean =>
  replayed === 'true' ? UUID.test(id) : id === requestId;

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
