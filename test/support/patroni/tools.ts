import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** States of a cluster as `pg_controldata` prints them, by their numbers in DBState. */
const STATES = [
  'starting up',
  'shut down',
  'shut down in recovery',
  'shutting down',
  'in crash recovery',
  'in archive recovery',
  'in production',
];

/** Prints what Patroni reads of `pg_controldata`, from the beginning of ControlFileData of PostgreSQL 18. */
const CONTROLDATA = `#!/bin/sh
file="$1/global/pg_control"
number() { od -An -t "u$2" -j "$1" -N "$2" "$file" | tr -d ' '; }
state=$(number 16 4)
set -- ${STATES.map((state) => `'${state}'`).join(' ')}
shift "$state"
echo "Database system identifier: $(number 0 8)"
echo "Database cluster state: $1"
printf 'Latest checkpoint location: %X/%X\\n' "$(number 36 4)" "$(number 32 4)"
echo "Latest checkpoint's TimeLineID: $(number 48 4)"
`;

/** Behaves as \`pg_isready\` does, by what the server writes into its pid file. */
const isReady = (dataDir: string): string => `#!/bin/sh
pid=$(sed -n 1p ${dataDir}/postmaster.pid 2> /dev/null) && kill -0 "$pid" 2> /dev/null || exit 2
[ "$(sed -n 8p ${dataDir}/postmaster.pid | tr -d ' ')" = ready ] || exit 1
`;

/**
 * Makes a folder of programs for Patroni: those of the built-in PostgreSQL, and what stands in for two that it does not have.
 */
export async function makeBinDir(dir: string, { postgres, dataDir }: { postgres: string; dataDir: string }) {
  await mkdir(dir, { mode: 0o755 });
  for (const name of ['postgres', 'initdb', 'pg_ctl']) await symlink(join(dirname(postgres), name), join(dir, name));
  for (const [name, script] of [
    ['pg_controldata', CONTROLDATA],
    ['pg_isready', isReady(dataDir)],
  ] as const) {
    await writeFile(join(dir, name), script);
    await chmod(join(dir, name), 0o755);
  }
}
