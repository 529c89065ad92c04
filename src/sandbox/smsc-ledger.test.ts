import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bindLibrary, startForTest as start } from '../../test/support/carriers/smpp-library-client.ts';
import { readLedgerFile } from '../../test/support/ledger-file.ts';

function temporaryFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'ledger.ndjson');
}

test('the file has the same entries as the memory, with their changes', async () => {
  const ledgerFile = temporaryFile();
  const smsc = await start({ ledgerFile });
  const client = await bindLibrary(smsc.port);
  const destinations = ['351912340000', '351912349909', '351912349906', '351912349904'];
  await Promise.all(destinations.map((to) => client.submit(to)));
  await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(5);
  await smsc.injectMo({ source: '351911111111', destination: '351922222222', text: 'line\nbreak' });
  smsc.ledger.flush();
  expect(await readLedgerFile(ledgerFile)).toEqual(smsc.ledger.entries());
  expect(smsc.ledger.entries().map((entry) => entry.n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('the file is readable only by its owner, and is written without a flush', async () => {
  const ledgerFile = temporaryFile();
  const smsc = await start({ ledgerFile, ledger: 'counts', receipts: 'none' });
  const client = await bindLibrary(smsc.port);
  await client.submit('351912340000');
  await expect.poll(() => readLedgerFile(ledgerFile)).toMatchObject([{ destination: '351912340000', answered: true }]);
  expect(statSync(ledgerFile).mode & 0o777).toBe(0o600);
  expect(smsc.ledger.entries()).toEqual([]);
});

test('a second run is appended, and an incomplete line of a killed run does no harm', async () => {
  const ledgerFile = temporaryFile();
  for (const destination of ['351912340001', '351912340002']) {
    const smsc = await start({ ledgerFile });
    const client = await bindLibrary(smsc.port);
    await client.submit(destination);
    await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(1);
    await smsc.close();
    appendFileSync(ledgerFile, '{"kind":"submit","n":');
  }
  expect(await readLedgerFile(ledgerFile)).toMatchObject([
    { n: 1, kind: 'submit', destination: '351912340001', answered: true },
    { n: 2, kind: 'receipt', source: '351912340001', result: 'acked' },
    { n: 1, kind: 'submit', destination: '351912340002', answered: true },
    { n: 2, kind: 'receipt', source: '351912340002', result: 'acked' },
  ]);
});

test('with counts only, the counts are the same and no entry is kept', async () => {
  const smsc = await start({ ledger: 'counts' });
  const client = await bindLibrary(smsc.port);
  await Promise.all(['351912340000', '351912349909'].map((to) => client.submit(to)));
  await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(1);
  expect(smsc.ledger.counts()).toMatchObject({ submits: 2, accepted: 1, refused: 1, answered: 2, receipts: 1 });
  expect(smsc.ledger.entries()).toEqual([]);
});
