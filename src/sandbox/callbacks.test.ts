import { expect, test } from 'vitest';
import { type Answer, STATUS } from '../../test/support/client.ts';
import { startTestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';

const MS = '/api/message-server';

test('with a proxy on this machine the sandbox’s own callbacks arrive, and plain HTTP of others is refused', async () => {
  const environment = { SANDBOX: 'on', TRUST_PROXY: '127.0.0.1' };
  await using program = await startTestProgram({ carriers: {}, roles: { sandbox: true }, environment });
  const ask = (method: string, path: string, body?: object, headers = { 'x-forwarded-proto': 'https' }) =>
    program.client.request(method, path, { headers, ...(body && { body }) });
  const field = ({ body }: Answer, name: string): unknown => Object(body)[name];

  const agents = await ask('GET', `${MS}/rcs/agents`);
  const { agentId } = Object(field(agents, 'data'))[0];
  const message = { agentId, destination: '+393331234567', body: { type: 'TEXT', text: 'Hello' } };
  expect((await ask('POST', `${MS}/rcs/send`, message, { 'x-forwarded-proto': 'http' })).status).toBe(403);
  const sent = await ask('POST', `${MS}/rcs/send`, message);
  expect(sent.status).toBe(200);
  await until('its receipt', async () => {
    const status = await ask('GET', `${STATUS}/${field(sent, 'messageId')}`);
    return field(status, 'deliveryStatus') === 'DELIVERED';
  });
});
