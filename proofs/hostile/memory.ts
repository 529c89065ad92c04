import { execFileSync } from 'node:child_process';

/**
 * The memory of a process and of everything it started except PostgreSQL, in MiB. PostgreSQL's processes share most of
 * theirs, so that a sum of them would mean nothing.
 */
export function memoryMiB(pid: number): number {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss=,comm='], { encoding: 'utf8' });
  const processes = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([id, parent, rssKiB, name = '']) => ({
      id: Number(id),
      parent: Number(parent),
      rssKiB: Number(rssKiB),
      name,
    }));
  const family = new Set([pid]);
  // A child may be listed before its parent.
  for (let before = 0; before < family.size; ) {
    before = family.size;
    for (const { id, parent, name } of processes)
      if (family.has(parent) && !name.startsWith('postgres')) family.add(id);
  }
  const total = processes.filter(({ id }) => family.has(id)).reduce((sum, { rssKiB }) => sum + rssKiB, 0);
  return Math.round(total / 1024);
}
