import { accept } from './accept.ts';
import { clock } from './clock.ts';
import { crash, crashPostgres } from './crash.ts';
import { fair } from './fair.ts';
import { money } from './money.ts';
import type { Proof } from './proof.ts';
import { receipts } from './receipts.ts';
import { resubmit } from './resubmit.ts';
import { settle } from './settle.ts';
import { smpp } from './smpp.ts';
import { tenants, tenantsRlsOnly } from './tenants.ts';
import { throttle } from './throttle.ts';

/** All proofs by name, in the order of `npm run prove`. */
export const PROOFS: Readonly<Record<string, Proof>> = {
  crash,
  'crash --pg': crashPostgres,
  'crash --policy resubmit': resubmit,
  accept,
  settle,
  receipts,
  throttle,
  smpp,
  money,
  fair,
  clock,
  tenants,
  'tenants --rls-only': tenantsRlsOnly,
};
