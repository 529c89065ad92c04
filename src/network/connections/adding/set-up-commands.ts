import type { Command } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { addSecretOption } from '../../../platform/secret-input.ts';
import { loadSecretKey } from '../../../platform/secret-key.ts';
import type { SetupStep } from '../kinds/setup.ts';
import { completeSetup } from '../set-up.ts';

/** Registers `connection subscribe` and `register`, which repeat the steps of `connection add whatsapp` at Meta. */
export function registerSetupCommands(connection: Command, context: CommandContext): void {
  connection
    .command('subscribe')
    .argument('<name>')
    .description('WhatsApp: subscribe the app to the business account, so that Meta posts its events')
    .action((name: string) => setUp(context, { name, pin: null, shown: 'subscribe' }));

  const register = connection
    .command('register')
    .argument('<name>')
    .description('WhatsApp: register the numbers of the connection for the Cloud API')
    .action(async (name: string, flags: Readonly<Record<string, unknown>>) => {
      const pin = (await context.secrets.ofOption(flags, '--pin', { required: true })) ?? null;
      await setUp(context, { name, pin, shown: 'register' });
    });
  addSecretOption(register, '--pin', 'PIN of the two-step verification, 6 digits; a number without one gets it');
}

type Wanted = { readonly name: string; readonly pin: string | null; readonly shown: SetupStep['name'] };

async function setUp(context: CommandContext, { name, pin, shown }: Wanted): Promise<void> {
  const secretKey = await loadSecretKey(context.config());
  const steps = await context.withDatabase((pool) =>
    completeSetup({ pool, secretKey }, { name, pin, by: operatorName() }),
  );
  const step = steps.find((each) => each.name === shown);
  context.report({ name, steps }, () => step?.detail ?? '', step?.ok === true);
}
