import type { Need } from '../../api/session.ts';

/** What every button of this area takes. An operator's right does not come from a role in the account looked at. */
export const OPERATOR: Need = { operator: true, write: false };

/** How often figures that move are asked for while somebody looks. */
export const LIVE_MS = 5_000;
