import packageJson from '../../../package.json' with { type: 'json' };

/** Major, minor and patch number. */
type Version = readonly [number, number, number];

const CONTRACT = /^\d{4}_contract_(\d+)_(\d+)_(\d+)_/;

/**
 * Returns the first release that does without what the migration of this name removes, as x.y.z, or null if it only adds:
 * `0080_contract_0_3_0_old_column` removes what release 0.3.0 no longer uses. The name says it, because the name is all
 * that a database tells an older program about a migration.
 */
export function findContractedRelease(name: string): string | null {
  const [, ...numbers] = CONTRACT.exec(name) ?? [];
  return numbers.length === 0 ? null : numbers.join('.');
}

/** Whether this program works on a database that has a newer migration of this name. */
export function worksWith(name: string): boolean {
  const needed = findContractedRelease(name);
  return needed === null || isAtLeast(packageJson.version, needed);
}

/** Whether a version is the other one or a later one. */
export function isAtLeast(version: string, other: string): boolean {
  const [ours, theirs] = [parseVersion(version), parseVersion(other)];
  const difference = ours.map((number, i) => number - (theirs[i] ?? 0)).find((step) => step !== 0);
  return difference === undefined || difference > 0;
}

/** What follows the three numbers, as in 0.3.0-rc.1, does not count. */
function parseVersion(text: string): Version {
  const [major = 0, minor = 0, patch = 0] = text.split(/[.-]/, 3).map(Number);
  return [major, minor, patch];
}
