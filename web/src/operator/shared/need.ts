import type { Need } from '../../api/session.ts';

/** The permission for every action in this area. It does not depend on the operator's role in the current account. */
export const OPERATOR: Need = { operator: true, write: false };

/** Poll interval for live figures. */
export const REFRESH_MS = 5_000;
