import { checksOff } from '../tenants/checks-off-pieces.ts';
import { asOwner } from './owner.ts';
import { sabotage } from './replace.ts';

// Loaded after the module that takes the checks out, it takes its place: so it takes them out as well.
sabotage([...checksOff, asOwner]);
