// Runs a carrier over HTTP as a separate process: `node proofs/lib/http-carrier-process.ts '<HttpSmsOptions as JSON>'`. It is
// controlled by lines of JSON on stdin, each acknowledged with one line.

import { createInterface } from 'node:readline';
import { type HttpSmsScript, startSandboxHttpSms } from '../../test/support/carriers/http-sms-server.ts';

/** A command for the process. */
export type HttpCarrierCommand =
  | { readonly do: 'script'; readonly set: Partial<HttpSmsScript> }
  | { readonly do: 'callTo'; readonly url: string }
  | { readonly do: 'counts' | 'flush' };

const carrier = await startSandboxHttpSms(JSON.parse(process.argv[2] ?? '{}'));
process.once('SIGTERM', () => void carrier.close().then(() => process.exit()));
createInterface({ input: process.stdin }).on('line', (line) => writeLine(execute(JSON.parse(line))));
writeLine({ port: carrier.port });

function writeLine(answer: object): void {
  process.stdout.write(`${JSON.stringify({ ok: true, ...answer })}\n`);
}

function execute(command: HttpCarrierCommand): object {
  if (command.do === 'script') Object.assign(carrier.script, command.set);
  else if (command.do === 'callTo') carrier.callTo(command.url);
  else if (command.do === 'flush') carrier.ledger.flush();
  else return { counts: carrier.ledger.counts(), scheduled: carrier.scheduled(), withheld: carrier.withheld() };
  return {};
}
