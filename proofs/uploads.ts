import { createExamples } from './examples.ts';
import { watchMemory } from './memory.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage } from './stage.ts';
import { type Hostile, hostileUploads } from './uploads/files.ts';
import { hostileMedia } from './uploads/media.ts';
import { countLively } from './uploads/served.ts';
import { formAround, sendUpload, type UploadAnswer } from './uploads/send.ts';

const SPOILT: Readonly<Record<Mode, number>> = { tiny: 15, quick: 150, full: 3000 };
/** As many as one account may have under way. */
const LANES = 2;
/** Two files are read at a time. */
const RSS_GROWTH_MIB = 256;
const UPLOAD = '/api/partner-gateway/v1/contacts/upload';

export const uploads: Proof = {
  promise: 'A hostile file is refused with a reason: nothing of it stays, and the program neither swells nor ends.',
  sabotage: {
    fault: 'columns and unpacked octets have no bounds, and names are believed',
    file: new URL('./sabotage/uploads.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, { gateway: 'serve' });
  const { apiKey, accountId, client } = await stage.newAccount({ plan: 'unlimited' });
  const origin = String(stage.gateway.ready['address']);
  const tell = createExamples(run);
  const counts = { uploads: 0, refused: 0, taken: 0, takenWrongly: 0, serverErrors: 0, silent: 0, reasonless: 0 };
  const send = ({ path, type, body }: Omit<Hostile, 'name'>) => sendUpload({ origin, apiKey, path }, type, body());
  const right = { path: UPLOAD, ...rightFile() };
  for (let i = 0; i < LANES; i++) await send(right);
  const left = [...hostileUploads(run, SPOILT[run.mode]), ...(await hostileMedia(run, SPOILT[run.mode]))];
  const memory = watchMemory(stage.gateway.pid);

  async function attack(): Promise<void> {
    for (let hostile = left.shift(); hostile; hostile = left.shift()) {
      const answer = await send(hostile);
      counts.uploads++;
      counts[verdictOn(hostile, answer)]++;
      if (answer && !hasReason(answer)) counts.reasonless++;
      const asMeant = answer && answer.status < 500 && (answer.status >= 400 || hostile.maybeRight);
      if (!asMeant) tell(hostile.name, `${hostile.name}: ${answer ? `${answer.status} ${answer.body}` : 'silence'}`);
      if (counts.uploads % 50 === 0) run.say(`${counts.uploads} uploads, ${left.length} to go`);
    }
  }
  await Promise.all(Array.from({ length: LANES }, attack));
  const rssGrowthMiB = memory.stop();
  const after = await send(right);
  const exits = stage.gateway.running() ? 0 : 1;
  const { rows } = await stage.pool.query<{ open: number }>(
    `SELECT count(*) AS open FROM contact_import WHERE account_id = $1 AND status <> 'COMPLETED'`,
    [accountId],
  );
  const halfDone = rows[0]?.open ?? 0;
  const lively = await countLively(client, origin, run);
  return judge(
    { ...counts, ...lively, halfDone, exits, rssGrowthMiB },
    {
      'no hostile file is taken': counts.takenWrongly === 0,
      'no answer is an error of the server': counts.serverErrors === 0,
      'every upload is answered': counts.silent === 0,
      'every refusal says why': counts.reasonless === 0,
      'what is taken of pictures and videos is served inert': lively.lively === 0,
      'nothing is left half done': halfDone === 0,
      [`memory stays within ${RSS_GROWTH_MIB} MiB`]: rssGrowthMiB <= RSS_GROWTH_MIB,
      'the program runs on and takes right files': exits === 0 && after?.status === 200,
    },
  );
}

type Verdict = 'refused' | 'taken' | 'takenWrongly' | 'serverErrors' | 'silent';

function verdictOn({ maybeRight = false }: Hostile, answer: UploadAnswer): Verdict {
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

function rightFile() {
  const { type, begin, end } = formAround('a.csv');
  const rows = Array.from({ length: 5000 }, (_, i) => `+39333${1_000_000 + i},Anna\n`);
  return { type, body: () => [begin, 'phone,first name\n', ...rows, end] };
}
