import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { destinationOf } from './traffic.ts';

/** Target and rate of a series of single sends. */
export type Singles = { readonly url: string; readonly apiKey: string; readonly perSecond: number };

/** Result of a series of single sends: the times to the responses in ms, and the ids of the messages. */
export type Sent = { readonly times: number[]; readonly ids: string[] };

/** Numbers that no other load of the bench uses. */
const FIRST_DESTINATION = 5_000_000;

/**
 * Starts a process that sends one-time codes at a steady rate, whatever the responses take: each time counts from the moment
 * when the request was due, so that a stall counts for all requests that it held up. Returns a function that ends the
 * series, waits for its last responses and returns what it has measured. Throws unless each message was accepted.
 */
export async function startSingles(singles: Singles): Promise<() => Promise<Sent>> {
  const child = fork(import.meta.filename, [JSON.stringify(singles)], { execArgv: [] });
  await nextMessage(child);
  return async () => {
    child.send('end');
    const sent = (await nextMessage(child)) as Sent | { failure: string };
    await once(child, 'exit');
    if ('failure' in sent) throw new Error(sent.failure);
    return sent;
  };
}

/** Resolves with the next message of the process. Throws if it ends without one. */
async function nextMessage(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const stop = (): void => ended.abort(new Error('the process of the single sends ended'));
  child.once('disconnect', stop);
  try {
    return (await once(child, 'message', { signal: ended.signal }))[0];
  } finally {
    child.off('disconnect', stop);
  }
}

type Answer = { readonly ms: number; readonly id: string };

function post({ url, apiKey }: Singles, agent: Agent, n: number, dueAt: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body = JSON.stringify({ phoneNumber: destinationOf(FIRST_DESTINATION + n), message: `Your code is ${n}` });
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', 'content-length': body.length };
  request(url, { method: 'POST', agent, headers }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    response.on('end', () => {
      const { messageId, results } = JSON.parse(text) as { messageId: string; results?: { accepted: boolean }[] };
      if (results?.[0]?.accepted) resolve({ ms: performance.now() - dueAt, id: messageId });
      else reject(new Error(`a single send got ${response.statusCode}: ${text}`));
    });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

async function send(singles: Singles): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const answers: Promise<Answer>[] = [];
  const start = performance.now();
  const timer = setInterval(() => {
    for (let n = answers.length; start + (n * 1000) / singles.perSecond <= performance.now(); n++)
      answers.push(post(singles, agent, n, start + (n * 1000) / singles.perSecond));
  }, 2);
  process.send?.('started');
  await once(process, 'message');
  clearInterval(timer);
  const got = await Promise.all(answers);
  agent.destroy();
  report({ times: got.map(({ ms }) => ms), ids: got.map(({ id }) => id) });
}

/** Ends the process once the message has left: a channel that is closed before that drops what is still on its way. */
const report = (result: Sent | { readonly failure: string }): void =>
  void process.send?.(result, () => process.disconnect?.());

if (import.meta.main)
  await send(JSON.parse(process.argv[2] ?? '') as Singles).catch((error: unknown) =>
    report({ failure: String(error) }),
  );
