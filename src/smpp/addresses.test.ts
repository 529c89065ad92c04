import { describe, expect, test } from 'vitest';
import { destinationAddress, sourceAddress } from './message.ts';

describe('a sender', () => {
  test.for([
    ['ACME', { ton: 5, npi: 0, addr: 'ACME' }],
    ['4U', { ton: 5, npi: 0, addr: '4U' }],
    ['+351912345678', { ton: 1, npi: 1, addr: '351912345678' }],
    ['351912345678', { ton: 1, npi: 1, addr: '351912345678' }],
    ['1234567', { ton: 1, npi: 1, addr: '1234567' }],
    ['123456', { ton: 3, npi: 0, addr: '123456' }],
    ['+12345', { ton: 1, npi: 1, addr: '12345' }],
    ['', { ton: 0, npi: 0, addr: '' }],
  ] as const)('%j has the type and plan that carriers expect', ([sender, expected]) => {
    expect(sourceAddress(sender)).toEqual(expected);
  });

  test('has the type and plan of the settings', () => {
    const settings = {
      alphaAddress: { ton: 5, npi: 1 },
      longAddress: { ton: 2, npi: 1 },
      shortAddress: { ton: 6, npi: 0 },
      plusPrefix: true,
    };
    expect(sourceAddress('ACME', settings)).toEqual({ ton: 5, npi: 1, addr: 'ACME' });
    expect(sourceAddress('351912345678', settings)).toEqual({ ton: 2, npi: 1, addr: '+351912345678' });
    expect(sourceAddress('1234', settings)).toEqual({ ton: 6, npi: 0, addr: '1234' });
  });
});

describe('a destination', () => {
  test('is sent as digits, or with its plus sign when the settings say so', () => {
    expect(destinationAddress('+351912345678')).toEqual({ ton: 1, npi: 1, addr: '351912345678' });
    const settings = { plusPrefix: true, destinationAddress: { ton: 0, npi: 1 } };
    expect(destinationAddress('+351912345678', settings)).toEqual({ ton: 0, npi: 1, addr: '+351912345678' });
  });
});
