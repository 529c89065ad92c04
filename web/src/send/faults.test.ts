import { describe, expect, test } from 'vitest';
import { type Draft, emptyDraft, tlvsOf } from './draft.ts';
import { groupFaults, missingOf, placeOf } from './faults.tsx';

const draft = (more: Partial<Draft>): Draft => ({ ...emptyDraft('+393331234567'), ...more });

test('an API field is mapped to its form field, or to the nearest one above it', () => {
  expect(placeOf('SMS', 'body')).toBe('text');
  expect(placeOf('WHATSAPP', 'body.text')).toBe('text');
  expect(placeOf('WHATSAPP', 'template.id')).toBe('WHATSAPP.templateId');
  expect(placeOf('WHATSAPP', 'template.variables.header.1')).toBe('variables.header.1');
  expect(placeOf('RCS', 'body.card.title')).toBe('cardTitle');
  expect(placeOf('RCS', 'body.card.suggestions[4].reply.text')).toBe('replies');
  expect(placeOf('RCS', 'fallbackSms.sender')).toBe('smsSender');
  expect(placeOf('RCS', 'bodyguard')).toBeNull();
});

test('errors of one field are joined, and those without a field are kept apart', () => {
  const faults = [
    { field: 'body.card', message: 'a' },
    { field: 'body', message: 'b' },
    { field: 'scheduledDate', message: 'c' },
  ];
  expect(groupFaults('RCS', faults)).toEqual({ errors: { text: 'a; b' }, others: [faults[2]] });
});

test('parameters of SMPP are sent as they are written, and a line in another form as a tag that the API rejects', () => {
  expect(tlvsOf({ tlvs: '0x1400=11012=7\n\n 0x1401:octets=00ff \n0x1402' })).toEqual([
    { tag: '0x1400', value: '11012=7' },
    { tag: '0x1401', type: 'octets', value: '00ff' },
    { tag: '0x1402', value: '' },
  ]);
  expect(tlvsOf({ tlvs: '0x1400:date=1' })).toEqual([{ tag: '0x1400:date=1', value: '1' }]);
  expect(placeOf('SMS', 'tlvs[0].tag')).toBe('tlvs');
});

describe('what is missing', () => {
  const network = { sender: 's', templateId: 't', variables: { 1: 'Ana' }, headerLink: '' };

  test('a template requires all its values and the file of its header', () => {
    const written = draft({ WHATSAPP: { ...network, kind: 'template' } });
    expect(missingOf('WHATSAPP', written, { placeholders: ['1', '2'], wantsFile: true })).toEqual([
      'variables.2',
      'WHATSAPP.headerLink',
    ]);
    expect(missingOf('WHATSAPP', written, { placeholders: ['1'], wantsFile: false })).toEqual([]);
  });

  test('a card requires a title only if it has neither text nor image', () => {
    const card = draft({ RCS: { ...network, kind: 'card' } });
    expect(missingOf('RCS', card, undefined)).toEqual(['cardTitle']);
    expect(missingOf('RCS', { ...card, text: 'Hello' }, undefined)).toEqual([]);
  });

  test('a fallback requires its fields only on channels that have it, and only if it is switched on', () => {
    const text = draft({ text: 'Hello', smsSender: 'Acme', hasFallbackSms: true, hasFallbackRcs: true });
    const written = { ...text, RCS: { ...network, kind: 'text' } } as const;
    expect(missingOf('RCS', written, undefined)).toEqual(['fallbackSmsText']);
    expect(missingOf('SMS', written, undefined)).toEqual([]);
    expect(missingOf('RCS', { ...written, hasFallbackSms: false }, undefined)).toEqual([]);
  });
});
