import { beforeAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { insertConnection } from '../network/connections/sql.ts';
import { createAccount } from '../operations/accounts/create.ts';
import { exec, sql } from '../platform/db/query.ts';
import { createSecretKey } from '../platform/lib/secret-box.ts';
import { listObstacles } from './check.ts';
import { registerCellCommands } from './commands.ts';

const [first, second] = [testDatabase(), testDatabase()];
let accountId: number;

beforeAll(async () => {
  ({ accountId } = await createAccount(first.pool, { name: 'Acme', plan: 'trial' }));
});
