import { registerContactCommands } from '../engagement/contacts/commands.ts';
import { registerKeyCommands } from '../identity/api-keys/commands.ts';
import { registerSingleSignOnCommands } from '../identity/single-sign-on/commands.ts';
import { registerUserCommands } from '../identity/user-commands.ts';
import { registerOperatorCommands } from '../identity/users/commands.ts';
import { registerConsentCommands } from '../messaging/consent/commands.ts';
import { registerInboundCommands } from '../messaging/inbound/commands.ts';
import { registerReceiptCommands } from '../messaging/receipts/commands.ts';
import { registerScheduleCommands } from '../messaging/schedules/commands.ts';
import { registerUnknownCommands } from '../messaging/unknown-outcomes/commands.ts';
import { registerWebhookCommands } from '../messaging/webhooks/commands.ts';
import { registerCreditCommands } from '../money/credit/commands.ts';
import { registerPriceCommands } from '../money/pricing/commands.ts';
import { registerSenderCommands } from '../network/assignments/commands.ts';
import { registerConnectionCommands } from '../network/connections/commands.ts';
import { registerCostCommands } from '../network/costs/commands.ts';
import { registerLookupCommands } from '../network/number-lookups/commands.ts';
import { registerRouteCommands } from '../network/routing/commands.ts';
import { registerSenderRuleCommands } from '../network/sender-rules/commands.ts';
import { registerAccountCommands } from '../operations/accounts/commands.ts';
import { registerBackupCommands } from '../operations/backups/commands.ts';
import { registerCellCommands } from '../cells/commands.ts';
import { registerAlertCommands } from '../operations/operator/alerts/commands.ts';
import { registerRestoreGuardCommands } from '../operations/restore-guard/commands.ts';
import { registerTemplateCommands } from '../operations/templates/commands.ts';
import type { CommandGroup } from '../platform/cli.ts';
import { registerDirectoryCommand } from './directory.ts';
import { registerDoctorCommand } from './doctor.ts';
import { registerServeCommands } from './serve-commands.ts';
import { registerSetupCommand } from './setup.ts';

/** THE list of commands, in the order of `--help`. */
export const COMMANDS: readonly CommandGroup[] = [
  registerServeCommands,
  registerSetupCommand,
  registerAccountCommands,
  registerKeyCommands,
  registerOperatorCommands,
  registerUserCommands,
  registerSingleSignOnCommands,
  registerConnectionCommands,
  registerRouteCommands,
  registerLookupCommands,
  registerSenderCommands,
  registerSenderRuleCommands,
  registerTemplateCommands,
  registerPriceCommands,
  registerCostCommands,
  registerCreditCommands,
  registerContactCommands,
  registerConsentCommands,
  registerInboundCommands,
  registerReceiptCommands,
  registerUnknownCommands,
  registerScheduleCommands,
  registerBackupCommands,
  registerRestoreGuardCommands,
  registerWebhookCommands,
  registerAlertCommands,
  registerCellCommands,
  registerDirectoryCommand,
  registerDoctorCommand,
];
