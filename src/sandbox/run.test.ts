import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { bindLibrary } from '../../test/support/carriers/smpp-library-client.ts';
import { type RunOptions, runSandbox, type SandboxCommand } from './smsc.ts';

type Line = { readonly ok: boolean; readonly port: number; readonly [field: string]: unknown };

function run(options: Partial<RunOptions> = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  const ended = runSandbox({ receiptDelayMs: 0, ...options, input, output, signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const next = async (): Promise<Line> => JSON.parse((await lines.next()).value ?? '{}');
  const say = (command: SandboxCommand | string): Promise<Line> => {
    input.write(`${typeof command === 'string' ? command : JSON.stringify(command)}\n`);
    return next();
  };
  return { next, say, stop, ended };
}

test('a simulator in its own process is controlled by lines of JSON', async () => {
  const { next, say } = run();
  const { port } = await next();
  const client = await bindLibrary(port);
  expect(await say({ do: 'script', set: { throttleShare: 1 } })).toMatchObject({ ok: true });
  expect((await client.submit('351912340000')).command_status).toBe(0x58);
  const message = { source: '351911111111', destination: '351922222222', text: 'hi' };
  expect(await say({ do: 'inbound', message })).toEqual({ ok: true, parts: 1, acked: 1 });
  expect(await say({ do: 'sessions' })).toMatchObject({ ok: true, sessions: [{ systemId: 'gw1' }] });
  expect(await say({ do: 'counts' })).toMatchObject({ counts: { submits: 1 }, statuses: { ESME_RTHROTTLED: 1 } });
  expect(await say({ do: 'drop' })).toEqual({ ok: true });
  await client.closed;
});

test('an invalid line gets an error and changes nothing', async () => {
  const { next, say } = run();
  await next();
  expect(await say('nonsense')).toMatchObject({ ok: false });
  expect(await say('{"do":"explode"}')).toEqual({ ok: false, error: 'unknown command' });
  expect(await say({ do: 'counts' })).toMatchObject({ ok: true });
});

test('the signal stops the simulator and its listener', async () => {
  const { next, stop, ended } = run();
  const { port } = await next();
  stop.abort();
  await ended;
  await expect(bindLibrary(port)).rejects.toThrow('ECONNREFUSED');
});

test('a port that is in use is an error', async () => {
  const { next } = run();
  const { port } = await next();
  const second = runSandbox({ port, output: new PassThrough(), signal: new AbortController().signal });
  await expect(second).rejects.toThrow('EADDRINUSE');
});
