import { expect, test } from 'vitest';
import { parseSmppSettings } from './settings.ts';

const LEAST = { host: 'smsc.example', systemId: 'gw1' };

test('host and system id are enough; everything else has a default', () => {
  expect(parseSmppSettings(LEAST)).toMatchObject({
    port: 2775,
    bind: 'trx',
    binds: 1,
    window: 10,
    interfaceVersion: 0x34,
    longMode: 'udh8',
    enquireSeconds: 30,
    submitTimeoutSeconds: 60,
    validity: 'absolute',
    alphaAddress: { ton: 5, npi: 0 },
    destinationAddress: { ton: 1, npi: 1 },
  });
});

test('one address kind can be changed without the others', () => {
  const settings = parseSmppSettings({ ...LEAST, shortAddress: { ton: 6 } });
  expect(settings).toMatchObject({ shortAddress: { ton: 6, npi: 0 }, alphaAddress: { ton: 5, npi: 0 } });
});

test('the given object is not changed', () => {
  const given = { ...LEAST };
  parseSmppSettings(given);
  expect(given).toEqual(LEAST);
});

test.each([
  [{ host: 'h' }, 'systemId'],
  [{ ...LEAST, port: 0 }, 'port'],
  [{ ...LEAST, bind: 'both' }, 'bind'],
  [{ ...LEAST, window: 1.5 }, 'window'],
  [{ ...LEAST, systemId: 'x'.repeat(16) }, 'systemId'],
  [{ ...LEAST, alphaAddress: { ton: 300 } }, 'alphaAddress.ton'],
  [{ ...LEAST, windows: 5 }, 'windows'],
  [{ ...LEAST, interfaceVersion: 0x33, longMode: 'sar' }, 'longMode'],
  ['text', 'settings'],
  [null, 'settings'],
])('%j is refused, naming the field %s', (settings, field) => {
  expect(() => parseSmppSettings(settings)).toThrow(new RegExp(`^${field}: `));
});
