import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { InboundMessage } from './inbound.ts';
import type { SandboxScript } from './script.ts';
import { type SandboxOptions, type SandboxSmsc, startSandboxSmsc } from './smsc.ts';

/** A command, as one line of JSON, for a simulator that runs in its own process. */
export type SandboxCommand =
  | { readonly do: 'script'; readonly set: Partial<SandboxScript> }
  | { readonly do: 'inbound'; readonly message: InboundMessage }
  | { readonly do: 'counts' | 'sessions' | 'flush' }
  | { readonly do: 'drop' | 'unbind' | 'pause' | 'resume' | 'refuse' | 'accept' };

/** The options of `runSandbox`. */
export type RunOptions = SandboxOptions & {
  /** Stops the simulator. */
  readonly signal: AbortSignal;
  /** Lines of `SandboxCommand`; each gets one line in response, `{ ok: true, … }` or `{ ok: false, error }`. */
  readonly input?: Readable;
  /** Receives `{ ok: true, port }` as the first line, then the responses. */
  readonly output: Writable;
};

/**
 * Runs a simulated SMSC until the signal aborts, and resolves when its ledger is written. Rejects when the port is not
 * available. The end of the input does not stop it.
 */
export async function runSandbox({ signal, input, output, ...options }: RunOptions): Promise<void> {
  const smsc = await startSandboxSmsc(options);
  const writeLine = (line: object): void => void output.write(`${JSON.stringify(line)}\n`);
  const lines = input ? createInterface({ input }) : null;
  lines?.on('line', (line) => void handleLine(smsc, line).then(writeLine));
  writeLine({ ok: true, port: smsc.port });
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  lines?.close();
  await smsc.close();
}

async function handleLine(smsc: SandboxSmsc, line: string): Promise<object> {
  try {
    const command: SandboxCommand = JSON.parse(line);
    return { ok: true, ...(await execute(smsc, command)) };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
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
        statuses: smsc.ledger.statuses(),
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
      throw new Error('unknown command');
  }
}
