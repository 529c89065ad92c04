// The terminals of a reader who follows a page: one in which the program runs, and a shell next to it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isShown, type Shown, type Step } from './doc-blocks.ts';
import { freePort } from './http/free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Files that a clone does not have, or has separately. */
const NOT_CLONED = ['.git', 'data'];
/** The ports that pages name; each run has others in their place. */
const PORTS = ['8080', '8443', '2775', '9080'];
const PORT = new RegExp(`\\b(?:${PORTS.join('|')})\\b`, 'g');
/** A first start makes a database; the first one in a clone also builds the console. */
const START_MS = 300_000;
const BLOCK_MS = 120_000;

export type Reader = AsyncDisposable & {
  /** Follows a step of the page. Throws if a command fails, or prints something other than what is shown. */
  follow(step: Step): Promise<void>;
};

/** Makes a folder that looks like a clone without data, and opens a shell in it. */
export async function startReader(): Promise<Reader> {
  const folder = await temporaryFolder('heliograph-docs-');
  for (const name of await readdir(ROOT))
    if (!NOT_CLONED.includes(name)) await symlink(join(ROOT, name), join(folder, name));
  const ports = new Map<string, string>();
  for (const port of PORTS) ports.set(port, String(await freePort()));
  const placed = (text: string): string => text.replaceAll(PORT, (port) => ports.get(port) ?? port);
  const environment = {
    PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    TMPDIR: folder,
    NO_COLOR: '1',
    PORT: ports.get('8080') ?? '',
    WEBHOOK_PORTS: ports.get('8443') ?? '',
  };
  const shell = openShell(folder, environment);
  let program: ChildProcess | null = null;

  /** Stops the program as Ctrl+C does. */
  async function stop(): Promise<void> {
    if (program === null || program.exitCode !== null || program.signalCode !== null) return;
    const ended = once(program, 'exit');
    process.kill(-(program.pid ?? 0), 'SIGINT');
    await ended;
  }
  async function start(text: string): Promise<void> {
    await stop();
    const started = spawn('bash', ['-e', '-c', placed(text)], {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: 'pipe',
    });
    program = started;
    let log = '';
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (bytes: Buffer) => (log += bytes.toString()));
    const url = `http://127.0.0.1:${environment.PORT}/health/ready`;
    await until(
      `the start of the program: ${log}`,
      async () => {
        if (started.exitCode !== null) throw new Error(`The program ended: ${log}`);
        const answer = await fetch(url).catch(() => null);
        return answer?.ok === true && /"carriers":\{"ok":true/.test(await answer.text());
      },
      START_MS,
    );
  }
  async function follow(step: Step): Promise<void> {
    if (step.kind === 'file') {
      await mkdir(dirname(join(folder, step.path)), { recursive: true });
      await writeFile(join(folder, step.path), placed(step.text));
    } else if (step.mode === 'start') await start(step.text);
    else if (step.mode !== 'norun') {
      const shown = step.shown && { ...step.shown, text: placed(step.shown.text) };
      await shell.paste(placed(step.text), shown, step.mode === 'repeat');
    }
  }
  return {
    follow,
    async [Symbol.asyncDispose]() {
      shell.close();
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** A bash that ends at the first command that fails, so that what follows is not run on a wrong ground. */
function openShell(folder: string, environment: Readonly<Record<string, string>>) {
  const bash = spawn('bash', ['-e', '-o', 'pipefail'], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: 'pipe',
  });
  let all = '';
  for (const stream of [bash.stdout, bash.stderr]) stream.on('data', (bytes: Buffer) => (all += bytes.toString()));
  let pasted = 0;

  /** Runs a block whole, and returns a function that says what has been printed since. */
  async function run(text: string): Promise<() => string> {
    const from = all.length;
    pasted += 1;
    const file = join(folder, `.block-${pasted}.sh`);
    const end = `end-of-block-${pasted}\n`;
    await writeFile(file, text);
    bash.stdin.write(`. ${file} </dev/null; echo ${end}`);
    const printed = (): string => all.slice(from).replace(end, '');
    await until(
      'the end of the block',
      () => {
        if (bash.exitCode !== null) throw new Error(`A command failed (${bash.exitCode}). Printed:\n${printed()}`);
        return all.includes(end, from);
      },
      BLOCK_MS,
    );
    return printed;
  }
  async function paste(text: string, shown: Shown | null, isRepeated: boolean): Promise<void> {
    let printed = await run(text);
    if (shown === null) return;
    // What runs in the background may print later.
    const isRight = async (): Promise<boolean> => {
      if (isShown(shown, printed())) return true;
      if (isRepeated) printed = await run(text);
      return false;
    };
    await until('what the page shows', isRight, 20_000).catch(() => {
      throw new Error(`Shown:\n${shown.text}\nPrinted:\n${printed()}`);
    });
  }
  return {
    paste,
    /** Ends the shell, and what it has left running. */
    close: () => void (bash.exitCode === null && process.kill(-(bash.pid ?? 0), 'SIGKILL')),
  };
}
