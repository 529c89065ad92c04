import { expect, test } from 'vitest';
import { notesOf, versionOfTag } from './release-notes.ts';

const CHANGELOG = `# Changelog

## [Unreleased]

## [0.2.1] - 2027-01-31

### Fixed

- One thing.

## [0.2.0] - 2027-01-30

### Added

- Another thing.

## [0.1.9]
- Something.

## [0.1.8] - 2027-01-01
`;

test('the notes of a version are its section of the changelog, without the heading', () => {
  expect(notesOf(CHANGELOG, '0.2.1')).toBe('### Fixed\n\n- One thing.\n');
  expect(notesOf(CHANGELOG, '0.2.0')).toBe('### Added\n\n- Another thing.\n');
});

test('a version without a section, without a date or without an entry has no notes', () => {
  expect(() => notesOf(CHANGELOG, '0.2')).toThrow('no section for 0.2');
  expect(() => notesOf(CHANGELOG, '0.1.9')).toThrow('has no date');
  expect(() => notesOf(CHANGELOG, '0.1.8')).toThrow('is empty');
});

test('a tag must name the version of every package', () => {
  const packages = { 'package.json': '0.2.0', 'client/package.json': '0.2.0' };
  expect(versionOfTag('v0.2.0', packages)).toBe('0.2.0');
  expect(versionOfTag('v0.3.0-rc.1', { 'package.json': '0.3.0-rc.1' })).toBe('0.3.0-rc.1');
  expect(() => versionOfTag('v0.2.0', { ...packages, 'client/package.json': '0.1.0' })).toThrow(
    'the tag is v0.2.0, but client/package.json has 0.1.0',
  );
  expect(() => versionOfTag('main', packages)).toThrow('"main" is not a tag');
});
