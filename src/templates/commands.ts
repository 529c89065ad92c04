import type { Command } from 'commander';
import type { CommandContext } from '../cli.ts';
import { findConnection } from '../connections/sql.ts';
import { AppError } from '../errors.ts';
import { loadSecretKey } from '../secret-key.ts';
import { syncConnection } from './sync.ts';

/** `template sync`. */
export function registerTemplateCommands(program: Command, context: CommandContext): void {
  program
    .command('template')
    .description('templates of WhatsApp')
    .command('sync')
    .argument('<connection>', 'name of a connection to WhatsApp')
    .description(
      'ask the network now which templates and numbers there are; a running program does so every ten minutes',
    )
    .action(async (name: string) => {
      const secretKey = await loadSecretKey(context.config());
      const synced = await context.withDatabase(async (pool) => {
        const connection = await findConnection(pool, { name });
        if (connection?.kind !== 'whatsapp')
          throw new AppError('not_found', { message: `There is no connection ${name} to WhatsApp` });
        return syncConnection({ pool, secretKey }, connection);
      });
      const said = synced.ok ? `${synced.templates} templates.` : `The network cannot be asked: ${synced.why}`;
      context.report(synced, () => said, synced.ok);
    });
}
