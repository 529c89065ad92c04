import { sabotage } from '../sabotage/replace.ts';
import { checksOff } from './checks-off-pieces.ts';

// Loaded before the gateway by `prove tenants --rls-only`.
sabotage(checksOff);
