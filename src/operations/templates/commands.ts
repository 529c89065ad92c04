import type { Command } from 'commander';
import type { CommandContext } from '../../platform/cli.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';
import { wakeCampaignsOf } from '../../engagement/campaigns/lifecycle/templates.ts';
import { syncNamed } from '../../network/templates/sync.ts';

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
      const synced = await context.withDatabase((pool) =>
        syncNamed({ pool, secretKey, onTemplatesChange: wakeCampaignsOf }, name),
      );
      const said = synced.ok ? `${synced.templates} templates.` : `The network cannot be asked: ${synced.why}`;
      context.report(synced, () => said, synced.ok);
    });
}
