import type { Command } from 'commander';
import type { CommandContext } from '../platform/cli.ts';
import { registerInviteCommands } from './invitations/commands.ts';
import { registerResetCommands } from './password-reset/commands.ts';

/** Registers the command `user` with what operators do for single users. */
export function registerUserCommands(program: Command, context: CommandContext): void {
  const isUser = (command: Command): boolean => command.name() === 'user';
  const user = program.commands.find(isUser) ?? program.command('user').description('users of accounts');
  registerInviteCommands(user, context);
  registerResetCommands(user, context);
}
