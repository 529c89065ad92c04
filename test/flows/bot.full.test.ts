import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectGraph } from '../support/networks.ts';
import { startTestProgram } from '../support/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const PERSON = '+393331234567';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
test('the bot of the examples answers a button with its product and sends a picture back, once each, whatever kills it', async () => {
  await using program = await startTestProgram({ carriers: {} });
  const { graph } = await connectGraph(program);
  await until('the handshake', () =>
    graph.verifyCallback(`${program.origin()}/api/callbacks/whatsapp/meta`, 'verify-me'),
  );
  const cursorFile = join(await temporaryFolder('heliograph-bot-'), 'cursor');
  const startBot = () => {
    const env = {
      ...process.env,
      BASE_URL: program.origin(),
      API_KEY: program.account.apiKey,
      CURSOR_FILE: cursorFile,
    };
    const bot = spawn(process.execPath, ['examples/16-bot.mjs'], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    return async () => {
      bot.kill('SIGKILL');
      await once(bot, 'exit');
    };
  };
  const sent = () => graph.ledger.messages();
  const kill = startBot();
  await until('the feed', async () => {
    const { body } = await program.client.request('GET', '/api/partner-gateway/v1/event-feed/settings');
    return (body as { enabled: boolean }).enabled;
  });
  await graph.injectInbound({ from: PERSON, type: 'button', content: { payload: 'shoe-42', text: 'Buy' } });
  await until('an answer to the button', () => sent().length === 1);
  expect(JSON.stringify(sent()[0]?.content)).toContain('size 42');
  await until('a stored place', async () => (await readFile(cursorFile, 'utf8').catch(() => '')) !== '');
  await kill();
  await graph.injectInbound({ from: PERSON, type: 'image', file: { bytes: PNG, mimeType: 'image/png' } });
  const killAgain = startBot();
  await until('the picture', () => sent().length === 2);
  await killAgain();
  expect(sent().map(({ type }) => type)).toEqual(['text', 'image']);
  await graph.close();
});
