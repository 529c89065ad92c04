import { accept } from './accept.ts';
import { allowlist } from './allowlist.ts';
import { callbacks } from './callbacks.ts';
import { canary } from './canary.ts';
import { clock } from './clock.ts';
import { consoleProof } from './console.ts';
import { crash, crashPostgres } from './crash.ts';
import { crashCampaign } from './crash-campaign.ts';
import { csv } from './csv.ts';
import { exportsProof } from './exports.ts';
import { deleteRace } from './delete-race.ts';
import { fair } from './fair.ts';
import { fallback } from './fallback.ts';
import { fallbackSends } from './fallback-sends.ts';
import { guess } from './guess.ts';
import { fields } from './fields.ts';
import { links } from './links.ts';
import { malformed } from './malformed.ts';
import { money } from './money.ts';
import { oauth } from './oauth.ts';
import { oracle } from './oracle.ts';
import type { Proof } from './proof.ts';
import { receipts } from './receipts.ts';
import { restore } from './restore.ts';
import { receivers } from './receivers.ts';
import { resubmit } from './resubmit.ts';
import { revoke } from './revoke.ts';
import { settle } from './settle.ts';
import { smpp } from './smpp.ts';
import { ssrf } from './ssrf.ts';
import { tenants, tenantsRlsOnly } from './tenants.ts';
import { throttle } from './throttle.ts';
import { uploads } from './uploads.ts';
import { webhooks } from './webhooks.ts';

/** All proofs by name, in the order of `npm run prove`. */
export const PROOFS: Readonly<Record<string, Proof>> = {
  crash,
  'crash --pg': crashPostgres,
  'crash --campaign': crashCampaign,
  'crash --policy resubmit': resubmit,
  accept,
  settle,
  receipts,
  throttle,
  smpp,
  money,
  'delete-race': deleteRace,
  fallback,
  'fallback-sends': fallbackSends,
  fair,
  clock,
  restore,
  revoke,
  guess,
  allowlist,
  fields,
  malformed,
  canary,
  tenants,
  'tenants --rls-only': tenantsRlsOnly,
  oracle,
  ssrf,
  receivers,
  webhooks,
  callbacks,
  uploads,
  links,
  oauth,
  csv,
  exports: exportsProof,
  console: consoleProof,
};
