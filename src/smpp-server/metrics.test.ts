import { expect, test } from 'vitest';
import { createMetrics } from '../core/metrics.ts';
import { EMPTY_MESSAGE } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { countRefusedConnections, countSubmits } from './server.ts';

test('messages are counted by their responses, and other requests are not', async () => {
  const metrics = createMetrics();
  const count = countSubmits(metrics);
  const head = { status: 0, sequence: 1 };
  const submit = { command: 'submit_sm', ...head, ...EMPTY_MESSAGE } as const;
  const address = { ton: 1, npi: 1, address: '39333' };
  count(submit, STATUS.ESME_ROK);
  count({ ...submit, command: 'submit_multi', destinations: [address, address] }, STATUS.ESME_ROK);
  count(submit, STATUS.ESME_RTHROTTLED);
  count(submit, STATUS.ESME_RSYSERR);
  count(submit, STATUS.ESME_RINVDSTADR);
  count({ command: 'query_sm', ...head, messageId: '', sourceTon: 0, sourceNpi: 0, source: '' }, STATUS.ESME_ROK);
  const text = await metrics.scrape();
  for (const [outcome, n] of [
    ['accepted', 3],
    ['throttled', 1],
    ['failed', 1],
    ['refused', 1],
  ] as const)
    expect(text).toContain(`heliograph_smpp_submits_total{outcome="${outcome}"} ${n}`);
});

test('connections that were closed at once are counted by their bound', async () => {
  const metrics = createMetrics();
  const count = countRefusedConnections(metrics);
  count('attempts');
  count('attempts');
  expect(await metrics.scrape()).toContain('heliograph_smpp_refused_total{bound="attempts"} 2');
});
