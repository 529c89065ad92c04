// Nothing but the forge itself runs its workflows, so a wrong command in them is noticed only there, or only at the next
// release. These tests hold what can be known before.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const exists = (path: string): boolean => existsSync(join(ROOT, path));

type Permissions = Readonly<Record<string, string>>;
type Step = { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> };
type Job = {
  readonly uses?: string;
  readonly needs?: readonly string[];
  readonly permissions?: Permissions;
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps?: readonly Step[];
};
type Workflow = {
  readonly name: string;
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Permissions;
  readonly concurrency: { readonly group: string; readonly 'cancel-in-progress': unknown };
  readonly jobs: Readonly<Record<string, Job>>;
};

const FILES = globSync('.github/workflows/*.yml', { cwd: ROOT }).toSorted();
const load = (file: string): Workflow => parse(read(file));
const WORKFLOWS = FILES.map((file) => ({ file, workflow: load(file), jobs: Object.entries(load(file).jobs) }));
const STEPS = WORKFLOWS.flatMap(({ file, jobs }) =>
  jobs.flatMap(([job, { steps = [] }]) => steps.map((step) => ({ where: `${file}, ${job}`, step }))),
);

/** Commands besides the scripts of package.json. */
const OTHER_COMMANDS = [
  /^npm ci$/,
  /^npm pack \.\/client$/,
  /^npm audit (--omit=dev|signatures)$/,
  // The image of the job, which package.json does not know.
  /^docker run --rm (--entrypoint node )?heliograph:candidate /,
  // Only root can install a package; the PATH has the Node of the job.
  /^sudo env "PATH=\$PATH" npm run test:packages$/,
  // Part of every runner. Actions that create releases would get the same permission.
  /^gh release create "\$GITHUB_REF_NAME" /,
];

const scriptOf = (command: string): string | undefined =>
  /^npm run (?:-s )?([\w:-]+)/.exec(command)?.[1] ?? /^npm (test)\b/.exec(command)?.[1];

/** Returns whether a command is a script that package.json has, or one of the few others. */
function isKnown(command: string): boolean {
  const script = scriptOf(command);
  return script === undefined ? OTHER_COMMANDS.some((known) => known.test(command)) : script in packageJson.scripts;
}

test('there are workflows for tests, checks, the full run and releases', () => {
  expect(FILES.map((file) => basename(file))).toEqual(['check.yml', 'full.yml', 'release.yml', 'test.yml']);
});

test('every command of a workflow exists', () => {
  const commands = STEPS.flatMap(({ step }) => step.run?.trim().split('\n') ?? []);
  expect(commands.length).toBeGreaterThan(5);
  expect(commands.filter((command) => !isKnown(command))).toEqual([]);
  expect(isKnown('npm run no-such-script')).toBe(false);
  expect(isKnown('npm test')).toBe(true);
  expect(isKnown('curl https://example.com')).toBe(false);
});

test('no command contains an expression: a name chosen by a third party would become part of the command', () => {
  expect(STEPS.filter(({ step }) => step.run?.includes('${{'))).toEqual([]);
});

test('every path that a workflow names exists', () => {
  const paths = STEPS.flatMap(({ step }) => [
    ...['context', 'file', 'node-version-file'].map((key) => step.with?.[key]),
    ...(step.run?.match(/(?<= )\.\/\S+/g) ?? []),
  ]).filter((path) => typeof path === 'string');
  const called = WORKFLOWS.flatMap(({ jobs }) => jobs.flatMap(([, { uses }]) => uses ?? []));
  expect(called.length).toBeGreaterThan(2);
  expect([...paths, ...called].filter((path) => !exists(path))).toEqual([]);
});

test('every action is pinned to a major version, the same one everywhere', () => {
  const used = new Set(STEPS.flatMap(({ step }) => step.uses ?? []));
  expect([...used].filter((action) => !/^(actions|docker)\/[\w-]+@v\d+$/.test(action))).toEqual([]);
  const names = [...used].map((action) => action.split('@')[0]);
  expect(new Set(names).size).toBe(used.size);
});

describe.each(WORKFLOWS)('$file', ({ file, workflow, jobs }) => {
  test('may read the contents and nothing else, unless a job says so', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(jobs.filter(([, { permissions }]) => permissions?.['contents'] === undefined)).toEqual([]);
  });

  test('ends every job after a while: a called workflow has its own limits', () => {
    const endless = jobs.filter(([, job]) => job.uses === undefined && !((job['timeout-minutes'] ?? 0) > 0));
    expect(endless).toEqual([]);
  });

  test('calls only workflows that can be called, with the permissions that they need', () => {
    for (const [, { uses, permissions }] of jobs) {
      if (uses === undefined) continue;
      const called = load(uses);
      expect(Object.keys(called.on)).toContain('workflow_call');
      for (const { permissions: needed } of Object.values(called.jobs)) expect(permissions).toMatchObject(needed ?? {});
    }
  });

  test('needs only jobs that it has', () => {
    const names = jobs.map(([name]) => name);
    expect(jobs.flatMap(([, { needs = [] }]) => needs).filter((name) => !names.includes(name))).toEqual([]);
  });

  test('has its own concurrency group: with that of its caller it would wait for itself', () => {
    expect(workflow.concurrency.group).toBe(`${basename(file, '.yml')}-\${{ github.ref }}`);
    expect(workflow.concurrency).toHaveProperty('cancel-in-progress');
  });
});

test('what only reports cannot fail a job, or hold it up', () => {
  const reports = STEPS.filter(({ step }) => step.run?.startsWith('npm audit'));
  expect(reports).toHaveLength(3);
  for (const { step } of reports)
    expect(step).toMatchObject({ 'continue-on-error': true, 'timeout-minutes': expect.any(Number) });
});

test('a release needs the tests, the checks and the full run', () => {
  const { jobs } = load('.github/workflows/release.yml');
  expect(jobs['package']?.needs).toEqual(['test', 'check', 'full']);
  expect(jobs['image']?.needs).toEqual(['package']);
  expect(jobs['release']?.needs).toEqual(['image']);
});

describe('the versions of Node agree', () => {
  const major = packageJson.dependencies.node.split('.')[0];

  test('.nvmrc names the major version that npm installs', () => {
    expect(read('.nvmrc').trim()).toBe(major);
  });

  test('the container image has that version', () => {
    const images = [...read('Dockerfile').matchAll(/^FROM node:(\d+)/gm)].map(([, version]) => version);
    expect(new Set(images)).toEqual(new Set([major]));
  });

  test('the tests run with the oldest version that may start the installation, and with that one', () => {
    const matrix = load('.github/workflows/test.yml').jobs['test']?.strategy?.matrix['node'];
    expect(matrix).toEqual([packageJson.engines.node.replace('>=', ''), major]);
  });
});

test('.editorconfig says what biome.json says', () => {
  const { formatter } = JSON.parse(read('biome.json')) as { formatter: Readonly<Record<string, string | number>> };
  const settings = Object.fromEntries(
    [...read('.editorconfig').matchAll(/^(\w+) = (.+)$/gm)].map(([, k, v]) => [k, v]),
  );
  expect(settings).toMatchObject({
    indent_style: formatter['indentStyle'],
    indent_size: String(formatter['indentWidth']),
    max_line_length: String(formatter['lineWidth']),
    end_of_line: 'lf',
  });
});

type Field = {
  readonly type: string;
  readonly id?: string;
  readonly attributes: { readonly label?: string; readonly value?: string; readonly options?: readonly unknown[] };
};
type Form = { readonly name: string; readonly description: string; readonly body: readonly Field[] };

describe.each(['bug', 'carrier', 'feature'])('the form %s', (name) => {
  const form: Form = parse(read(`.github/ISSUE_TEMPLATE/${name}.yml`));
  const fields = form.body.filter(({ type }) => type !== 'markdown');

  test('has what a form must have', () => {
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    expect(form.body.filter(({ type }) => !/^(markdown|textarea|input|dropdown|checkboxes)$/.test(type))).toEqual([]);
    expect(fields.filter(({ attributes }) => attributes.label === undefined)).toEqual([]);
    const choices = fields.filter(({ type }) => type === 'dropdown' || type === 'checkboxes');
    expect(choices.filter(({ attributes }) => (attributes.options ?? []).length === 0)).toEqual([]);
  });

  test('names each field once', () => {
    const ids = fields.map(({ id }) => id);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test('pages that the forms and the template name exist', () => {
  const texts = globSync('.github/{ISSUE_TEMPLATE/*.yml,*.md}', { cwd: ROOT }).map(read).join('\n');
  const pages = [...new Set(texts.match(/[\w./-]+\.md\b/g))];
  expect(pages).toContain('SECURITY.md');
  expect(pages.filter((page) => !exists(page))).toEqual([]);
  const scripts = [...texts.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, script = '']) => script);
  expect(scripts.filter((script) => !(script in packageJson.scripts))).toEqual([]);
});

test('security reports are not opened as public reports', () => {
  const config = parse(read('.github/ISSUE_TEMPLATE/config.yml'));
  expect(config).toMatchObject({ blank_issues_enabled: false });
  expect(config.contact_links[0].about).toContain('SECURITY.md');
});

test('updates are configured for every place that has dependencies', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as { updates: readonly Record<string, unknown>[] };
  const folders = updates.flatMap(({ directory, directories }) => (directories ?? [directory]) as string[]);
  expect(folders.filter((folder) => !exists(`.${folder}`))).toEqual([]);
  expect(updates.map((each) => each['package-ecosystem'])).toEqual([
    'npm',
    'github-actions',
    'docker',
    'docker-compose',
  ]);
});

test('dependencies have exact versions', () => {
  const versions = Object.values({ ...packageJson.dependencies, ...packageJson.devDependencies });
  expect(versions.filter((version) => !/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});
