import { registerAccountCommands } from './accounts/commands.ts';
import { registerKeyCommands } from './api-keys/commands.ts';
import { type CommandGroup, runCommand } from './cli.ts';
import { registerConnectionCommands } from './connections/commands.ts';
import { registerConsentCommands } from './consent/commands.ts';
import { registerContactCommands } from './contacts/commands.ts';
import { registerCreditCommands } from './credit/commands.ts';
import { registerDoctorCommand } from './doctor.ts';
import { registerFenceCommands } from './fence/commands.ts';
import { registerInboundCommands } from './inbound/commands.ts';
import { registerPriceCommands } from './pricing/commands.ts';
import { registerReceiptCommands } from './receipts/commands.ts';
import { registerRouteCommands } from './routing/commands.ts';
import { registerTemplateCommands } from './templates/commands.ts';
import { registerServeCommands } from './serve-commands.ts';
import { registerSenderCommands } from './senders/commands.ts';
import { registerScheduleCommands } from './schedules/commands.ts';
import { registerUnknownCommands } from './unknowns/commands.ts';
import { registerOperatorCommands } from './users/commands.ts';
import { registerWebhookCommands } from './webhooks/commands.ts';

/** All commands, in the order of `--help`. */
const GROUPS: readonly CommandGroup[] = [
  registerServeCommands,
  registerAccountCommands,
  registerKeyCommands,
  registerOperatorCommands,
  registerConnectionCommands,
  registerRouteCommands,
  registerSenderCommands,
  registerTemplateCommands,
  registerPriceCommands,
  registerCreditCommands,
  registerContactCommands,
  registerConsentCommands,
  registerInboundCommands,
  registerReceiptCommands,
  registerUnknownCommands,
  registerScheduleCommands,
  registerFenceCommands,
  registerWebhookCommands,
  registerDoctorCommand,
];

// A command that reported what it found may have set the code itself: `doctor` does.
process.exitCode = (await runCommand(GROUPS, process)) || process.exitCode;
