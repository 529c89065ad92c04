import type { Command } from 'commander';
import { wakeCampaignsUsing } from '../../engagement/campaigns/lifecycle/wake-by-template.ts';
import { syncNamed } from '../../network/templates/sync.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';

/** `template sync`. */
export function registerTemplateCommands(program: Command, context: CommandContext): void {
  program
    .command('template')
    .description('WhatsApp templates')
    .command('sync')
    .argument('<connection>', 'name of a WhatsApp connection')
    .description('fetch the templates and numbers from the network; a running program does so every ten minutes')
    .action(async (name: string) => {
      const secretKey = await loadSecretKey(context.config());
      const synced = await context.withDatabase((pool) =>
        syncNamed({ pool, secretKey, onTemplatesChange: wakeCampaignsUsing }, name),
      );
      const text = synced.ok ? `${synced.templates} templates.` : `The network cannot be reached: ${synced.why}`;
      context.report(synced, () => text, synced.ok);
    });
}
