/**
 * `npm run interop`: the ten SMPP checks with foreign software, as a table of peers and checks. By default with the npm
 * package `smpp` in both roles, and with Kannel where it is installed. `--peer` selects one of them, or an SMSC that is
 * on this machine already and named by the path of its program:
 *
 *     npm run interop -- --peer smscsim --path /path/to/smscsim            (ukarim/smscsim, built)
 *     npm run interop -- --peer jsmpp --path 'jsmpp.jar:examples.jar:…'    (a class path with its examples)
 *     npm run interop -- --peer smsc --port 2775 --system-id gw1 --password secret08
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/free-port.ts';
import { CHECKS, type CheckName, runChecks, type Verdict } from '../test/support/interop/checks.ts';
import { ESME_CHECKS } from '../test/support/interop/esme-checks.ts';
import { KANNEL, kannelIsMissing } from '../test/support/interop/peers/kannel.ts';
import { LIBRARY_CLIENT } from '../test/support/interop/peers/library-client.ts';
import { startLibraryServer } from '../test/support/interop/peers/library-server.ts';
import { SMSC_CHECKS, type SmscPeer } from '../test/support/interop/smsc-checks.ts';
import { until } from '../test/support/until.ts';

const { values: given } = parseArgs({
  options: {
    peer: { type: 'string' },
    path: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string' },
    'system-id': { type: 'string', default: 'gw1' },
    password: { type: 'string', default: 'secret08' },
  },
});

type Verdicts = ReadonlyMap<CheckName, Verdict>;

/** Runs of the checks with each peer, by name. */
const PEERS: Readonly<Record<string, () => Promise<readonly [name: string, verdicts: Verdicts]>>> = {
  'npm-server': async () => {
    await using peer = await startLibraryServer();
    return [peer.name, await runChecks(SMSC_CHECKS, peer, tell)];
  },
  'npm-client': async () => [LIBRARY_CLIENT.name, await runChecks(ESME_CHECKS, LIBRARY_CLIENT, tell)],
  kannel: async () => [KANNEL.name, await runChecks(ESME_CHECKS, KANNEL, tell)],
  smscsim: async () => {
    const port = await freePort();
    const environment = { SMSC_PORT: String(port), WEB_PORT: String(await freePort()) };
    return checkProgram('smscsim', port, [required('path')], environment);
  },
  jsmpp: async () => {
    const port = await freePort();
    const settings = {
      'simulator.port': port,
      'client.systemId': given['system-id'],
      'client.password': given.password,
    };
    const options = Object.entries(settings).map(([key, value]) => `-Djsmpp.${key}=${value}`);
    const main = ['-cp', required('path'), ...options, 'org.jsmpp.examples.SMPPServerSimulator'];
    return checkProgram('jSMPP', port, ['java', ...main], {});
  },
  smsc: async () => checkServer('SMSC', Number(required('port'))),
};

const tell = (name: CheckName, { kind, detail }: Verdict): void => console.log(`  ${kind}  ${name}: ${detail}`);

function required(name: 'path' | 'port'): string {
  const value = given[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

/** Starts a program that is an SMSC, checks it and ends it. */
async function checkProgram(name: string, port: number, command: readonly string[], environment: object) {
  const [program = '', ...args] = command;
  const child: ChildProcess = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...environment } });
  try {
    await until(`${name} to listen`, () => listens(port));
    return await checkServer(name, port);
  } finally {
    if (child.exitCode === null) {
      child.kill();
      await once(child, 'exit');
    }
  }
}

async function checkServer(name: string, port: number): Promise<readonly [string, Verdicts]> {
  const { host, 'system-id': systemId, password } = given;
  const peer: SmscPeer = { name, host, port, systemId, password };
  return [name, await runChecks(SMSC_CHECKS, peer, tell)];
}

async function listens(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => Boolean(socket.destroy()),
    () => false,
  );
}

const chosen = given.peer === undefined ? ['npm-server', 'npm-client', 'kannel'] : [given.peer];
const results: (readonly [string, Verdicts])[] = [];
for (const name of chosen) {
  const missing = name === 'kannel' ? kannelIsMissing() : undefined;
  const run = PEERS[name];
  if (run === undefined) throw new Error(`--peer must be one of ${Object.keys(PEERS).join(', ')}`);
  console.log(missing ?? `${name}:`);
  if (missing === undefined) results.push(await run());
}
console.log(`\n| Check | ${results.map(([name]) => name).join(' | ')} |`);
console.log(`|---|${results.map(() => '---|').join('')}`);
for (const check of CHECKS)
  console.log(`| ${check} | ${results.map(([, verdicts]) => verdicts.get(check)?.kind ?? '').join(' | ')} |`);
process.exit(results.some(([, verdicts]) => [...verdicts.values()].some(({ kind }) => kind === 'fail')) ? 1 : 0);
