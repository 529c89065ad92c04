import { accept } from './accept.ts';
import { allowlist } from './allowlist.ts';
import { backup } from './backup.ts';
import { callbacks } from './callbacks/index.ts';
import { canary } from './canary/index.ts';
import { cellLost } from './cell-lost.ts';
import { clock } from './clock/index.ts';
import { consoleProof } from './console/index.ts';
import { crash, crashHttp, crashPostgres } from './crash/index.ts';
import { crashCampaign } from './crash/campaign.ts';
import { csv } from './csv/index.ts';
import { crashOfCustomers } from './customers/crash.ts';
import { fairToCustomers } from './customers/fair.ts';
import { receiptsOfCustomers } from './customers/receipts.ts';
import { resubmitOfCustomers } from './customers/resubmit.ts';
import { exportsProof } from './exports.ts';
import { deleteRace } from './delete-race.ts';
import { failover } from './failover.ts';
import { fair, fairHttp } from './fair.ts';
import { fallback } from './fallback/index.ts';
import { fallbackSends } from './fallback/sends.ts';
import { guess } from './guess.ts';
import { hostile } from './hostile/index.ts';
import { fields } from './fields/index.ts';
import { links } from './links/index.ts';
import { malformed } from './malformed/index.ts';
import { money } from './money.ts';
import { move } from './move/index.ts';
import { oauth } from './oauth.ts';
import { oracle } from './oracle.ts';
import type { Proof } from './lib/proof.ts';
import { receipts, receiptsHttp } from './receipts.ts';
import { restore } from './restore.ts';
import { receivers } from './receivers/index.ts';
import { resubmit, resubmitHttp } from './crash/resubmit.ts';
import { revoke } from './revoke.ts';
import { scale } from './scale.ts';
import { settle } from './settle.ts';
import { soak } from './soak/index.ts';
import { smpp } from './smpp/index.ts';
import { smppServer } from './smpp/server.ts';
import { ssrf } from './ssrf/index.ts';
import { tenants, tenantsAppOnly, tenantsRlsOnly } from './tenants/index.ts';
import { throttle } from './throttle/index.ts';
import { uploads } from './uploads/index.ts';
import { webhooks } from './webhooks/index.ts';

/** All proofs by name, in the order in which `npm run prove` runs them. */
export const PROOFS: Readonly<Record<string, Proof>> = {
  crash,
  'crash --pg': crashPostgres,
  'crash --campaign': crashCampaign,
  'crash --http': crashHttp,
  'crash --smpp': crashOfCustomers,
  failover,
  scale,
  'cell-lost': cellLost,
  move,
  'crash --policy resubmit': resubmit,
  'crash --policy resubmit --http': resubmitHttp,
  'crash --policy resubmit --smpp': resubmitOfCustomers,
  accept,
  settle,
  receipts,
  'receipts --http': receiptsHttp,
  'receipts --smpp': receiptsOfCustomers,
  throttle,
  smpp,
  'smpp --server': smppServer,
  money,
  'delete-race': deleteRace,
  fallback,
  'fallback-sends': fallbackSends,
  fair,
  'fair --http': fairHttp,
  'fair --smpp': fairToCustomers,
  clock,
  restore,
  backup,
  revoke,
  guess,
  allowlist,
  fields,
  malformed,
  canary,
  tenants,
  'tenants --rls-only': tenantsRlsOnly,
  'tenants --app-only': tenantsAppOnly,
  oracle,
  ssrf,
  receivers,
  hostile,
  webhooks,
  callbacks,
  uploads,
  links,
  oauth,
  csv,
  exports: exportsProof,
  console: consoleProof,
  soak,
};
