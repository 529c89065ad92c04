import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../../free-port.ts';
import { isInstalled } from '../../installed.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { until } from '../../until.ts';
import type { EsmeOptions, EsmePeer } from '../esme-checks.ts';

/** Returns why Kannel cannot take part, or undefined if it can. */
export const kannelIsMissing = (): string | undefined =>
  ['bearerbox', 'smsbox'].every(isInstalled) ? undefined : "Kannel is not installed: the Debian package is 'kannel'";

type Ports = { readonly admin: number; readonly box: number; readonly http: number };

/** Options for Kannel's connection to an SMSC. `core` and `user` are further settings of these groups. */
type KannelOptions = EsmeOptions & { readonly core?: string; readonly user?: string };

/** The settings are described in Kannel's user guide, chapters 4 (core), 6 (SMPP) and 7 (smsbox). */
const configurationOf = ({ admin, box, http }: Ports, options: KannelOptions): string => `
group = core
admin-port = ${admin}
admin-password = admin
admin-allow-ip = "127.0.0.1"
smsbox-port = ${box}
box-allow-ip = "127.0.0.1"
sms-resend-freq = 1
${options.core ?? ''}

${groupsOf(options)}
group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${http}

group = sendsms-user
username = user
password = user
${options.user ?? 'max-messages = 10\nconcatenation = true'}

group = sms-service
keyword = default
max-messages = 0
text = "none"
`;

/** A group takes one kind of bind: both directions in one, or one each in a pair. */
function groupsOf({ port, bind, window }: EsmeOptions): string {
  const binds =
    bind === 'trx' ? [`port = ${port}\ntransceiver-mode = true`] : [`port = ${port}`, `receive-port = ${port}`];
  const groupOf = (lines: string, index: number): string => `
group = smsc
smsc = smpp
smsc-id = heliograph-${index}
host = 127.0.0.1
${lines}
smsc-username = gw1
smsc-password = secret08
system-type = ""
interface-version = 34
max-pending-submits = ${window}
source-addr-autodetect = true
reconnect-delay = 1
`;
  return binds.map(groupOf).join('');
}

/** A Kannel that is bound to its SMSC. */
export type RunningKannel = {
  /** The URL of its HTTP interface for sending. */
  readonly sendUrl: string;
  /** The bearerbox and the smsbox. */
  readonly pids: readonly number[];
  close(): Promise<void>;
};

/** Starts Debian's Kannel: its bearerbox binds, with the system_id `gw1`, its smsbox takes messages over HTTP. */
export async function startKannel(options: KannelOptions): Promise<RunningKannel> {
  const folder = await temporaryFolder('heliograph-test-kannel-');
  const ports: Ports = { admin: await freePort(), box: await freePort(), http: await freePort() };
  const file = join(folder, 'kannel.conf');
  await writeFile(file, configurationOf(ports, options));
  const bearerbox = spawn('bearerbox', ['-v', '4', file], { stdio: 'ignore', cwd: folder });
  await until('the bearerbox', () => {
    if (bearerbox.exitCode !== null) throw new Error('the bearerbox refuses its configuration');
    return answers(`http://127.0.0.1:${ports.admin}/status.txt`);
  });
  const smsbox = spawn('smsbox', ['-v', '4', file], { stdio: 'ignore', cwd: folder });
  const sendUrl = `http://127.0.0.1:${ports.http}/cgi-bin/sendsms`;
  await until('the smsbox', () => answers(sendUrl));
  await until('its bind', async () => (await textAt(`http://127.0.0.1:${ports.admin}/status.txt`)).includes('(online'));
  return {
    sendUrl,
    pids: [bearerbox.pid ?? 0, smsbox.pid ?? 0],
    async close() {
      await end(smsbox);
      await end(bearerbox);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Debian's Kannel as a client that posts receipts. */
export const KANNEL: EsmePeer = {
  name: 'Kannel (client)',
  binds: ['trx', 'tx+rx'],
  reconnects: true,
  async connect(options) {
    const delivered: string[] = [];
    const receiver = await startReceiver(delivered);
    const kannel = await startKannel(options);
    return {
      async send(to, text) {
        const { port } = Object(receiver.address());
        const report = `http://127.0.0.1:${port}/?to=${to}&type=%d`;
        const user = { username: 'user', password: 'user', from: 'ACME', to, text, charset: 'UTF-8' };
        const coding = /^[\x20-\x7e€\n]*$/.test(text) ? '0' : '2';
        const query = new URLSearchParams({ ...user, coding, 'dlr-mask': '31', 'dlr-url': report });
        const response = await fetch(`${kannel.sendUrl}?${query}`);
        if (response.status !== 202) throw new Error(`Kannel returned ${response.status}: ${await response.text()}`);
        await response.body?.cancel();
      },
      delivered: () => delivered,
      async close() {
        await kannel.close();
        receiver.closeAllConnections();
        receiver.close();
      },
    };
  },
};

/** Takes Kannel's receipts: type 1 is delivered (user guide, chapter 7, dlr-mask). */
async function startReceiver(delivered: string[]): Promise<Server> {
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
    if (query.get('type') === '1') delivered.push(query.get('to') ?? '');
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const textAt = (url: string): Promise<string> =>
  fetch(url).then(
    (response) => response.text(),
    () => '',
  );

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    async (response) => {
      await response.body?.cancel();
      return true;
    },
    () => false,
  );

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
