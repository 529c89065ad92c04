import { createFaultLog } from '../lib/fault-log.ts';
import { watchMemory } from './memory.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';
import { type Hostile, hostileUploads } from './files.ts';
import { hostileMedia } from './media.ts';
import { countActive } from './served.ts';
import { formAround, sendUpload, type UploadAnswer } from './send.ts';

const CORRUPTED_FILES: Readonly<Record<Mode, number>> = { tiny: 15, quick: 150, full: 3000 };
/** The number of uploads that one account may have in progress. */
const CONCURRENCY = 2;
/** Two files are processed at a time. */
const RSS_GROWTH_MIB = 256;
const UPLOAD = '/api/partner-gateway/v1/contacts/upload';

export const uploads: Proof = {
  promise: 'A hostile file is refused with a reason, leaves nothing behind, and costs the program no memory for long.',
  sabotage: {
    fault: 'columns and unpacked bytes are unlimited, and file names are trusted',
    file: new URL('../sabotage/uploads.ts', import.meta.url),
    breaks: ['no hostile file is accepted'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, { gateway: 'serve' });
  const { apiKey, accountId, client } = await stage.newAccount({ plan: 'unlimited' });
  const origin = String(stage.gateway.ready['address']);
  const report = createFaultLog(run);
  const counts = { uploads: 0, refused: 0, taken: 0, takenWrongly: 0, serverErrors: 0, silent: 0, reasonless: 0 };
  const send = ({ path, type, body }: Omit<Hostile, 'name'>) => sendUpload({ origin, apiKey, path }, type, body());
  const validUpload = { path: UPLOAD, ...validFile() };
  for (let i = 0; i < CONCURRENCY; i++) await send(validUpload);
  const left = [
    ...hostileUploads(run, CORRUPTED_FILES[run.mode]),
    ...(await hostileMedia(run, CORRUPTED_FILES[run.mode])),
  ];
  const memory = watchMemory(stage.gateway.pid);

  async function attack(): Promise<void> {
    for (let hostile = left.shift(); hostile; hostile = left.shift()) {
      const answer = await send(hostile);
      counts.uploads++;
      counts[verdictFor(hostile, answer)]++;
      if (answer && !hasReason(answer)) counts.reasonless++;
      const asMeant = answer && answer.status < 500 && (answer.status >= 400 || hostile.maybeValid);
      if (!asMeant) report(hostile.name, `${hostile.name}: ${answer ? `${answer.status} ${answer.body}` : 'silence'}`);
      if (counts.uploads % 50 === 0) run.log(`${counts.uploads} uploads, ${left.length} to go`);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, attack));
  const rssGrowthMiB = memory.stop();
  const after = await send(validUpload);
  const exits = stage.gateway.running() ? 0 : 1;
  const { rows } = await stage.pool.query<{ open: number }>(
    `SELECT count(*) AS open FROM contact_import WHERE account_id = $1 AND status <> 'COMPLETED'`,
    [accountId],
  );
  const halfDone = rows[0]?.open ?? 0;
  const lively = await countActive(client, origin, run);
  return judge(
    { ...counts, ...lively, halfDone, exits, rssGrowthMiB },
    {
      'no hostile file is accepted': counts.takenWrongly === 0,
      'no answer is a server error': counts.serverErrors === 0,
      'every upload is answered': counts.silent === 0,
      'every refusal has a reason': counts.reasonless === 0,
      'accepted pictures and videos are served inert': lively.lively === 0,
      'no import stays unfinished': halfDone === 0,
      [`memory stays within ${RSS_GROWTH_MIB} MiB`]: rssGrowthMiB <= RSS_GROWTH_MIB,
      'the program keeps running and accepts valid files': exits === 0 && after?.status === 200,
    },
  );
}

type Verdict = 'refused' | 'taken' | 'takenWrongly' | 'serverErrors' | 'silent';

function verdictFor({ maybeValid: maybeRight = false }: Hostile, answer: UploadAnswer): Verdict {
  if (!answer) return 'silent';
  if (answer.status >= 500) return 'serverErrors';
  if (answer.status >= 400) return 'refused';
  return maybeRight ? 'taken' : 'takenWrongly';
}

function hasReason({ status, body }: NonNullable<UploadAnswer>): boolean {
  if (status < 400) return true;
  const error: unknown = JSON.parse(body);
  const message: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
  return typeof message === 'string' && message !== '';
}

function validFile() {
  const { type, begin, end } = formAround('a.csv');
  const rows = Array.from({ length: 5000 }, (_, i) => `+39333${1_000_000 + i},Anna\n`);
  return { type, body: () => [begin, 'phone,first name\n', ...rows, end] };
}
