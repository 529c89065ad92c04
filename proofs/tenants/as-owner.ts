import { asOwner } from '../sabotage/owner.ts';
import { sabotage } from '../sabotage/replace.ts';

// Loaded before the gateway by `prove tenants --app-only`.
sabotage([asOwner]);
