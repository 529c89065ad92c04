import { accept } from './accept.ts';
import { cellLost } from './cell-lost.ts';
import { crashCampaign } from './crash/campaign.ts';
import { crashExpress, crashExpressPostgres } from './crash/express.ts';
import { crash, crashHttp, crashPostgres } from './crash/index.ts';
import { resubmit } from './crash/resubmit.ts';
import { crashVerify } from './crash/verify.ts';
import { crashOfCustomers } from './customers/crash.ts';
import { erase } from './erase.ts';
import { failover } from './failover.ts';
import { fair } from './fair.ts';
import { fallback } from './fallback/index.ts';
import { hostile, hostileFaults } from './hostile/index.ts';
import type { Proof } from './lib/proof.ts';
import { malformed } from './malformed/index.ts';
import { money } from './money.ts';
import { move } from './move/index.ts';
import { prices, pricesUnknown } from './prices/index.ts';
import { receipts } from './receipts.ts';
import { restore } from './restore.ts';
import { scale } from './scale.ts';
import { soak } from './soak/index.ts';
import { ssrf } from './ssrf/index.ts';
import { tenants, tenantsAppOnly } from './tenants/index.ts';
import { webhooks } from './webhooks/index.ts';

/** All proofs by name, in the order in which `npm run prove` runs them. */
export const PROOFS: Readonly<Record<string, Proof>> = {
  crash,
  'crash --pg': crashPostgres,
  'crash-express': crashExpress,
  'crash-express --pg': crashExpressPostgres,
  'crash --campaign': crashCampaign,
  'crash --http': crashHttp,
  'crash --smpp': crashOfCustomers,
  'crash --verify': crashVerify,
  failover,
  scale,
  'cell-lost': cellLost,
  move,
  'crash --policy resubmit': resubmit,
  accept,
  receipts,
  money,
  prices,
  'prices --fault unknown': pricesUnknown,
  fallback,
  fair,
  restore,
  erase,
  malformed,
  tenants,
  'tenants --app-only': tenantsAppOnly,
  ssrf,
  hostile,
  ...hostileFaults,
  webhooks,
  soak,
};
