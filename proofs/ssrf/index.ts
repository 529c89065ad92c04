import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Client } from '../../test/support/client.ts';
import { startProcess } from '../lib/processes.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';
import { type Corpus, readCorpus } from './corpus.ts';

/** Take every nth target: the whole corpus takes seconds, the smallest run one target in ten. */
const STRIDE: Readonly<Record<Mode, number>> = { tiny: 10, quick: 1, full: 1 };
const CONCURRENCY = 32;
const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';

export const ssrf: Proof = {
  promise: 'No webhook reaches a non-public address, however it is written, resolved or redirected.',
  sabotage: {
    fault: 'addresses are checked only when a name is resolved',
    breaks: ['no tripwire was reached', 'no non-public address was dialled'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const corpus = readCorpus(STRIDE[run.mode]);
  await using tripwires = await startTripwires();
  const { port } = tripwires;
  const registered = await register(run, corpus, port);
  run.log(`${registered.refused} URLs were refused at registration`);
  const seen = await postToAll(run, port);
  const { urls, answers, flips, redirects } = corpus;
  const targets = urls.length + answers.length + flips.length + redirects.length;
  const figures = {
    targets,
    public: corpus.public.length,
    ...registered,
    ...seen,
    tripwires: tripwires.listening,
    tripped: tripwires.tripped(),
  };
  return judge(figures, {
    'every hostile URL is refused when it is registered': registered.refused === urls.length,
    'no public address is refused when it is registered': registered.accepted === corpus.public.length,
    'no tripwire was reached': figures.tripped === 0,
    'no non-public address was dialled': seen['hostileDialled'] === 0,
    'no listener on this machine has responded': seen['answered'] === 0,
    'no public address is refused when it is posted to': seen['publicRefused'] === 0,
    'every name that changes was accepted at registration': seen['flips'] === flips.length,
    'every redirect was seen and not followed': seen['redirectsSeen'] === redirects.length,
  });
}

/** Registers URLs through the API; returns how many were refused and accepted. */
async function register(run: Run, corpus: Corpus, port: number): Promise<{ refused: number; accepted: number }> {
  const environment = { WEBHOOK_PORTS: String(port) };
  await using stage = await openStage(run, { gateway: 'api', environment });
  const urls = corpus.urls.map((url) => url.replaceAll('{port}', String(port)));
  const refused = await countStatus(stage.client, 400, urls);
  const hosts = corpus.public.map((address) => (address.includes(':') ? `[${address}]` : address));
  const accepted = await countStatus(
    stage.client,
    201,
    hosts.map((host) => `https://${host}:${port}/`),
  );
  return { refused, accepted };
}

async function countStatus(client: Client, wanted: number, urls: readonly string[]): Promise<number> {
  const left = urls.values();
  let count = 0;
  const worker = async (): Promise<void> => {
    for (const callbackUrl of left) {
      const { status } = await client.request('POST', WEBHOOK, { body: { callbackUrl } });
      if (status === wanted) count++;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return count;
}

/** Posts to the corpus with the program's poster, as if all of it had been registered. */
async function postToAll(run: Run, port: number): Promise<Readonly<Record<string, number>>> {
  const poster = await startProcess(run, {
    file: new URL('./process.ts', import.meta.url),
    args: [String(port), String(STRIDE[run.mode]), ...(run.sabotage ? ['faulty'] : [])],
  });
  const seen = await poster.nextLine();
  await poster.stop();
  return Object.fromEntries(Object.entries(seen).map(([figure, value]) => [figure, Number(value)]));
}

/** Not every system has all of these addresses: those beyond 127.0.0.1 are used where available. */
const TRIPWIRES = ['127.0.0.1', '::1', '127.0.0.0', '127.128.0.0', '127.255.255.254'];

/** Starts listeners on loopback addresses, all on one port, that nothing should reach. */
async function startTripwires() {
  let tripped = 0;
  const servers: Server[] = [];
  const listen = async (host: string, port: number): Promise<number> => {
    const server = createServer((socket) => {
      tripped++;
      socket.destroy();
    });
    server.listen(port, host);
    await once(server, 'listening');
    servers.push(server);
    const address = server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  };
  const [first = '', ...others] = TRIPWIRES;
  const port = await listen(first, 0);
  for (const host of others) await listen(host, port).catch(() => 0);
  return {
    port,
    listening: servers.length,
    tripped: () => tripped,
    async [Symbol.asyncDispose]() {
      for (const server of servers) server.close();
      await Promise.all(servers.map((server) => once(server, 'close')));
    },
  };
}
