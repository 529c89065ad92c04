// Runs a sandbox carrier as a separate process: `node proofs/lib/sandbox-process.ts '<SandboxOptions as JSON>'`. It is
// controlled by lines of JSON on stdin, each acknowledged with one line.

import { createInterface } from 'node:readline';
import { type SandboxOptions, type SandboxSmsc, startSandboxSmsc } from '../../src/sandbox/smsc.ts';
import type { SandboxScript } from '../../src/sandbox/smsc-script.ts';
import type { InboundMessage } from '../../src/sandbox/smsc-submit.ts';

/** A command for the process. */
export type SandboxCommand =
  | { readonly do: 'script'; readonly set: Partial<SandboxScript> }
  | { readonly do: 'inbound'; readonly message: InboundMessage }
  | { readonly do: 'counts' | 'sessions' | 'flush' }
  | { readonly do: 'drop' | 'unbind' | 'pause' | 'resume' | 'refuse' | 'accept' };

const options: SandboxOptions = JSON.parse(process.argv[2] ?? '{}');
const smsc = await startSandboxSmsc(options);
process.once('SIGTERM', () => void smsc.close().then(() => process.exit()));
createInterface({ input: process.stdin }).on('line', (line) => void execute(smsc, JSON.parse(line)).then(writeLine));
writeLine({ port: smsc.port });

function writeLine(answer: object | undefined): void {
  process.stdout.write(`${JSON.stringify({ ok: true, ...answer })}\n`);
}

async function execute(smsc: SandboxSmsc, command: SandboxCommand): Promise<object | undefined> {
  switch (command.do) {
    case 'script':
      return { script: Object.assign(smsc.script, command.set) };
    case 'inbound':
      return smsc.injectMo(command.message);
    case 'counts':
      return {
        counts: smsc.ledger.counts(),
        statuses: smsc.ledger.answers(),
        waiting: smsc.waiting(),
        scheduled: smsc.scheduled(),
      };
    case 'sessions':
      return { sessions: smsc.sessions() };
    case 'flush':
      return void smsc.ledger.flush();
    case 'drop':
      return void (await smsc.dropConnections());
    case 'unbind':
      return void smsc.unbindAll();
    case 'pause':
      return void smsc.pauseReads();
    case 'resume':
      return void smsc.resumeReads();
    case 'refuse':
      return void smsc.refuseConnections();
    case 'accept':
      return void (await smsc.acceptConnections());
    default:
      return command satisfies never;
  }
}
