import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { findContractedRelease, isAtLeast, worksWith } from './contracts.ts';

test('the name of a migration says from which release on it may be applied', () => {
  expect(findContractedRelease('0080_contract_0_3_0_old_column')).toBe('0.3.0');
  expect(findContractedRelease('0080_contract_10_0_12_old_column')).toBe('10.0.12');
  expect(findContractedRelease('0080_contracts_of_customers')).toBeNull();
  expect(findContractedRelease('0080_old_contract_0_3_0_column')).toBeNull();
});

test('this program works with what newer releases add, and with what they remove if it no longer uses that', () => {
  const own = packageJson.version.split('.').join('_');
  expect(worksWith('9999_new_table')).toBe(true);
  expect(worksWith(`9999_contract_${own}_old_table`)).toBe(true);
  expect(worksWith('9999_contract_999_0_0_old_table')).toBe(false);
});

test('versions are compared number by number', () => {
  expect(isAtLeast('0.3.0', '0.3.0')).toBe(true);
  expect(isAtLeast('0.10.0', '0.9.9')).toBe(true);
  expect(isAtLeast('1.0.0', '0.9.9')).toBe(true);
  expect(isAtLeast('0.2.9', '0.3.0')).toBe(false);
  expect(isAtLeast('0.3.0-rc.1', '0.3.0')).toBe(true);
});
