import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

export const VERIFY = '/api/partner-gateway/v1/verify';
/** The permission that changes of services and ranges require. */
export const NEED: Need = { scope: 'verify', write: true };
export const VERIFY_KEYS = [['verify']] as const;

export const listServices = () => ok(api.GET(`${VERIFY}/services`));
export type Service = Awaited<ReturnType<typeof listServices>>[number];
