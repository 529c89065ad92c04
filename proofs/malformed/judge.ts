import { createExamples } from '../examples.ts';
import type { Run } from '../proof.ts';
import { CASES } from '../tenants/cases.ts';
import type { Outcome, Reply } from './exchange.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Listens to what every request is answered, and counts what should not be. */
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
  const tell = createExamples(run);

  function hearReply(what: string, reply: Reply, route: string | undefined): void {
    if (reply.status < 400) counts.ok++;
    else if (reply.status < 500) counts.refused++;
    else if (isAway(reply)) counts.away++;
    else {
      counts.serverErrors++;
      tell(what, `${reply.status} to ${what}: ${reply.body}`);
    }
    if (route !== undefined && isRight(route, reply.status)) reached.add(route);
    const fault = faultOf(reply);
    if (fault === undefined) return;
    counts.misshapen++;
    tell(what, `${fault}, to ${what}: ${reply.body}`);
  }

  return {
    counts,
    reached: (): ReadonlySet<string> => reached,
    /** To a right request. */
    hearRight(route: string, { replies }: Outcome): void {
      if (replies.some(({ status }) => isRight(route, status))) reached.add(route);
    },
    hearRefusal({ message }: Error): void {
      counts.rightRefused++;
      tell(message, message);
    },
    hear(what: string, { replies, silent }: Outcome, answers: number, route?: string): void {
      counts.requests++;
      if (silent) counts.silent++;
      if (replies.length < answers) counts.unanswered++;
      if (replies.length > answers) counts.smuggled++;
      if (silent || replies.length !== answers) tell(what, `${replies.length} answers to ${what}`);
      for (const reply of replies) hearReply(what, reply, route);
    },
  };
}

const isRight = (route: string, status: number): boolean =>
  status < 300 || CASES[route]?.answers?.includes(status) === true;

/** Says when to come again, or is the health check, whose 503 is its answer. */
const isAway = ({ status, retryAfter, body }: Reply): boolean =>
  status === 503 && (retryAfter !== '' || body.includes('"checks"'));

/** What is wrong with the form of an answer: its request id, or the shape of an error (contract 1 and 7). */
function faultOf({ status, requestId, replayed, body }: Reply): string | undefined {
  if (!UUID.test(requestId)) return `the request id is "${requestId}"`;
  // An answer to HEAD has none.
  if (status < 400 || body === '' || body.includes('"checks"')) return undefined;
  const error: unknown = parsed(body);
  if (typeof error !== 'object' || error === null) return 'the error is no JSON';
  const [own, message] = [Reflect.get(error, 'status'), Reflect.get(error, 'message')];
  if (typeof message !== 'string' || message === '') return 'the error has no message';
  if (own === 'error') return Reflect.get(error, 'code') === status ? undefined : 'the code is not the status';
  if (own !== status || typeof Reflect.get(error, 'error') !== 'string') return 'the error does not name its status';
  const id = String(Reflect.get(error, 'requestId'));
  return isIdOf(id, requestId, replayed) ? undefined : 'the error has another request id';
}

/** What is answered again is the first answer, word for word: its id is that of the first request. */
const isIdOf = (id: string, requestId: string, replayed: string): boolean =>
  replayed === 'true' ? UUID.test(id) : id === requestId;

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
