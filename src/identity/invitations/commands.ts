import { type Command, Option } from 'commander';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { type Role, ROLES, SCOPES } from '../../platform/lib/scope.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';
import { findAccount } from '../accounts/find.ts';
import { operatorAuthor } from '../audit/record.ts';
import { type Language, LANGUAGES } from '../mail-text.ts';
import { invite } from './invite.ts';

type Options = { readonly role: Role; readonly language: Language };

/** Registers `user invite`, below the command `user`. */
export function registerInviteCommands(user: Command, context: CommandContext): void {
  user
    .command('invite')
    .argument('<account>', 'name or id')
    .argument('<email>', 'email address, which becomes the username')
    .addOption(new Option('--role <role>', 'role of the user').choices(ROLES).default('viewer'))
    .addOption(new Option('--language <language>', 'language of the mail').choices(LANGUAGES).default('en'))
    .description('invite a person by mail, or print the link if there is no mail server')
    .action(async (reference: string, email: string, options: Options) => {
      context.report(await inviteBy(context, reference, email, options), ({ link }) =>
        link === null ? `A mail to ${email} is on its way.` : `${link}\nThe link works once, within seven days.`,
      );
      context.warnIfLocal('The link of the invitation');
    });
}

const inviteBy = (context: CommandContext, reference: string, email: string, options: Options) =>
  context.withDatabase(async (pool) => {
    const config = context.config();
    const deps = { config, secretKey: await loadSecretKey(config) };
    const { id: accountId } = await findAccount(pool, { reference });
    const author = { ...operatorAuthor(accountId), role: 'admin', operations: new Set(SCOPES) } as const;
    const made = await transaction(pool, (tx) => invite(deps, tx, author, { email, ...options }));
    return { id: made.id, email: made.email, role: made.role, link: made.link };
  });
