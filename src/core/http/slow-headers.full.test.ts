import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { openRequest } from '../../../test/support/http/open-request.ts';
import { createServer } from './server.ts';

test('a connection whose headers drip is ended after fifteen seconds, like one that sends nothing', async () => {
  await using server = await listening(createServer(apiDeps()));
  const silent = await openRequest(server.port);
  const dripping = await openRequest(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n');
  const drip = setInterval(() => dripping.send('X'), 500);
  const answers = await Promise.all([silent.end(), dripping.end()]).finally(() => clearInterval(drip));
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 408 /);
});
