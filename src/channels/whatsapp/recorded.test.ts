import { expect, test } from 'vitest';
import { ANSWERS, CHANGES } from '../../../test/support/carriers/recorded-whatsapp.ts';
import { carrierFacing, templateTo } from '../../../test/support/carriers/whatsapp-harness.ts';
import { readWhatsappCallback, readWhatsappChanges } from './callbacks.ts';
import { signatureOf } from './client.ts';

const WABA = '102290129340398';
const SECRET = 'app-secret';

test.each(ANSWERS)('the response "$title" ($source) is understood', async ({ status, body, outcome }) => {
  const carrier = await carrierFacing(() => ({ status, body }));
  expect(await carrier.submit(templateTo('+16505551234'))).toMatchObject(outcome);
});

test.each(CHANGES)('a change of $field ($source) is understood', ({ field, value, read }) => {
  const entry = [{ id: WABA, time: 1_751_247_548, changes: [{ value, field }] }];
  const rawBody = Buffer.from(JSON.stringify({ entry, object: 'whatsapp_business_account' }));
  const signature = signatureOf(rawBody, SECRET);
  const found = readWhatsappCallback({ rawBody, signature, appSecret: SECRET });
  if (found.kind !== 'ok') throw new Error(found.kind);
  const callback = readWhatsappChanges(found.changes, { wabaId: WABA, phoneNumberIds: [] });
  expect(callback).toMatchObject({ other: [], ...read });
});
