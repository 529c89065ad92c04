import { expect, test } from 'vitest';
import { createZoneSearch, labelOf, offsetOf, zonesFrom } from './time-zone.tsx';

const ZONES = zonesFrom('Europe/Rome');
const search = createZoneSearch(ZONES, 'en');

test('the own zone and UTC come first, and each zone occurs once', () => {
  expect(ZONES.slice(0, 2)).toEqual(['Europe/Rome', 'UTC']);
  expect(new Set(ZONES).size).toBe(ZONES.length);
});

test('a chosen zone is listed by the name that the server has for it', () => {
  expect(zonesFrom('Europe/Rome', 'Asia/Kolkata').filter((zone) => zone === 'Asia/Kolkata')).toHaveLength(1);
  expect(zonesFrom('Europe/Rome', 'US/Eastern').at(-1)).toBe('US/Eastern');
  expect(zonesFrom('Europe/Rome', '')).toEqual(ZONES);
});

test('a zone is shown without underscores, and with its distance from UTC at the time', () => {
  expect(labelOf('America/New_York')).toBe('America/New York');
  expect(offsetOf('Europe/Rome', new Date('2027-01-15T12:00:00Z'))).toBe('UTC+01:00');
  expect(offsetOf('Europe/Rome', new Date('2027-07-15T12:00:00Z'))).toBe('UTC+02:00');
});

test.each([
  ['rome', 'Europe/Rome'],
  ['new yo', 'America/New_York'],
  ['eur lisb', 'Europe/Lisbon'],
  ['SÃO PAULO', 'America/Sao_Paulo'],
  ['central european', 'Europe/Rome'],
  ['japan', 'Asia/Tokyo'],
])('“%s” finds %s', (text, zone) => {
  expect(search(text)).toContain(zone);
});

test('without a text all are found, and nothing by a part from the middle of a word', () => {
  expect(search(' ')).toEqual(ZONES);
  expect(search('ome')).not.toContain('Europe/Rome');
  expect(search('atlantis')).toEqual([]);
});
