import { checksOff } from '../tenants/checks-off-pieces.ts';
import { asOwner } from './owner.ts';
import { sabotage } from './replace.ts';

// This module is loaded after checks-off.ts and replaces what that one loads, so it must take the checks out as well.
sabotage([...checksOff, asOwner]);
