import { removeOrphans } from '../test/support/data-dir.ts';
import { benchCampaign } from './campaign.ts';
import { benchChannels } from './channels.ts';
import { benchCodes } from './codes.ts';
import { benchContacts } from './contacts.ts';
import { benchDisk } from './disk.ts';
import { benchEngine } from './engine.ts';
import { benchExport } from './export.ts';
import { benchFirstLoad } from './first-load.ts';
import { benchFront } from './front.ts';
import { benchGrow } from './grow.ts';
import { benchHistory } from './history.ts';
import { benchIdle } from './idle.ts';
import { benchImport } from './import.ts';
import { benchInbox } from './inbox.ts';
import { benchKannel } from './kannel.ts';
import { formatReport, type NotRun, type Report } from './lib/report.ts';
import { benchMixed } from './mixed.ts';
import { benchSend } from './send.ts';
import { benchSmppServer } from './smpp-server.ts';
import { benchStats } from './stats.ts';
import { benchVerify } from './verify.ts';
import { benchWebhooks } from './webhooks.ts';

/**
 * `npm run bench` runs all benches, `npm run bench -- NAME` one of them. Compare ratios between machines, not seconds.
 */
const BENCHES: Readonly<Record<string, () => Promise<Report | NotRun>>> = {
  engine: benchEngine,
  send: benchSend,
  'smpp-server': benchSmppServer,
  front: benchFront,
  mixed: benchMixed,
  codes: benchCodes,
  kannel: benchKannel,
  grow: benchGrow,
  disk: benchDisk,
  webhooks: benchWebhooks,
  verify: benchVerify,
  idle: benchIdle,
  contacts: benchContacts,
  import: benchImport,
  campaign: benchCampaign,
  stats: benchStats,
  export: benchExport,
  history: benchHistory,
  channels: benchChannels,
  inbox: benchInbox,
  'first-load': benchFirstLoad,
};

await removeOrphans('heliograph-bench-');
const [wanted] = process.argv.slice(2);
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted !== undefined && wanted !== name) continue;
  const report = await bench();
  console.log('notRun' in report ? `${report.name}: not run: ${report.notRun}` : formatReport(report));
  console.log(JSON.stringify(report));
}
