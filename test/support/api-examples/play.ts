import { setTimeout as delay } from 'node:timers/promises';
import { isRecord } from '../../../src/core/schema.ts';
import type { Caller, Step } from './step.ts';

/** An operation of the description, as far as requests are made from it. */
export type Operation = {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
};
type Media = {
  readonly schema?: { readonly required?: readonly string[] };
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
};

/** A request of the story as it was sent, and what came back. */
export type Played = {
  readonly step: Step;
  readonly operation: Operation;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly form: Readonly<Record<string, unknown>> | undefined;
  readonly status: number;
  readonly expected: number;
  /** Parsed if it is JSON; undefined if it has no content. */
  readonly answer: unknown;
  /** The error of the same request with an empty body, where fields are required. */
  readonly refusal: object | undefined;
};

export type Stage = {
  readonly origin: string;
  readonly demo: { readonly apiKey: string; readonly username: string; readonly password: string };
  /** Replacements for the URLs of the examples before a request is sent. */
  readonly hosts: Readonly<Record<string, string>>;
};

const DEADLINE_MS = 90_000;
const POLL_MS = 100;

/** Returns all operations of an OpenAPI description by their operationId. */
export function operationsOf({ paths }: { readonly paths: object }): ReadonlyMap<string, Operation> {
  const list = Object.entries(paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  return new Map(list.map((operation) => [operation.operationId, operation]));
}

/**
 * Plays the steps in their order, each with every example that its operation has, and calls `tell` after each. Rejects
 * when a step names an unknown operation; an unexpected status is for the caller to judge.
 */
export async function play(
  steps: readonly Step[],
  operations: ReadonlyMap<string, Operation>,
  stage: Stage,
  tell: (played: Played) => void,
): Promise<void> {
  const answers: Record<string, unknown> = {};
  const sessions = new Map<string, string>();

  for (const step of steps) {
    const operation = operations.get(step.operation);
    if (operation === undefined) throw new Error(`no operation ${step.operation}`);
    await playStep(step, operation);
  }

  async function playStep(step: Step, operation: Operation): Promise<void> {
    const [path, query] = [resolved(step.path), resolved(step.query)];
    const form = step.form && { file: step.form.fileName, ...step.form.fields };
    const request = { step, operation, path, query, form, expected: step.status ?? firstSuccess(operation) };
    const refusal = await refusalOf(step, operation, path, query);
    const [first, ...others] = bodiesOf(step, operation);
    const seen = await sendUntil(step, operation, path, query, first);
    answers[step.name ?? step.operation] ??= seen.answer;
    tell({ ...request, ...seen, refusal });
    for (const body of others) {
      const other = await send(step, operation, path, query, body);
      tell({ ...request, ...other, step: { ...step, name: 'another form' }, refusal: undefined });
    }
  }

  /** Sends an empty body where fields are required. */
  async function refusalOf(step: Step, operation: Operation, ...rest: [object, object]): Promise<object | undefined> {
    const required = operation.requestBody?.content['application/json']?.schema?.required ?? [];
    if (required.length === 0 || step.name !== undefined) return undefined;
    const { status, answer } = await send(step, operation, ...rest, {});
    return status === 400 && isRecord(answer) ? answer : undefined;
  }

  function resolved(values: object = {}): Record<string, unknown> {
    const entries = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'function' ? value(answers) : value,
    ]);
    return Object.fromEntries(entries);
  }

  function bodiesOf(step: Step, { requestBody }: Operation): readonly unknown[] {
    const json = requestBody?.content['application/json'];
    if (json === undefined) return [undefined];
    const examples = json.examples ? Object.values(json.examples).map(({ value }) => value) : [json.example];
    if (step.body === undefined) return examples;
    return [{ ...Object(examples[0]), ...resolved(step.body) }];
  }

  async function sendUntil(step: Step, ...rest: Rest) {
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      const seen = await send(step, ...rest);
      const waits = Object.entries(step.until ?? {}).some(
        ([name, values]) => !values.includes(Object(seen.answer)[name]),
      );
      if (!waits || seen.status >= 400 || performance.now() > deadline) return seen;
      await delay(POLL_MS);
    }
  }

  async function send(step: Step, ...[operation, path, query, body]: Rest) {
    const url = step.url ? new URL(String(step.url(answers)), stage.origin) : urlOf(operation, path, query);
    const response = await fetch(new URL(url.pathname + url.search, stage.origin), {
      method: operation.method,
      headers: {
        accept: 'application/json',
        ...credentialsOf(step.as ?? 'key'),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: step.form ? formOf(step.form) : body === undefined ? null : hosted(JSON.stringify(body)),
      redirect: 'manual',
    });
    const [cookie] = response.headers.getSetCookie();
    if (step.session && cookie) sessions.set(step.session, cookie.split(';')[0] ?? '');
    return { status: response.status, answer: await contentOf(response) };
  }

  function credentialsOf(caller: Caller): Record<string, string> {
    if (caller === 'anonymous') return fromConsole();
    if (caller === 'key') return { 'x-api-key': stage.demo.apiKey };
    if (caller === 'user') return basic(`${stage.demo.username}:${stage.demo.password}`);
    if ('basic' in caller) return basic(caller.basic);
    return { cookie: sessions.get(caller.session) ?? '', ...fromConsole() };
  }

  /** Requests that begin, use or end a session must come from the console's pages. */
  function fromConsole(): Record<string, string> {
    return { 'x-heliograph-console': '1', origin: stage.origin };
  }

  function hosted(json: string): string {
    return Object.entries(stage.hosts).reduce((text, [example, host]) => text.replaceAll(example, host), json);
  }
}

type Rest = [operation: Operation, path: object, query: object, body: unknown];

const basic = (credentials: string) => ({ authorization: `Basic ${Buffer.from(credentials).toString('base64')}` });

const firstSuccess = ({ responses }: Operation): number =>
  Number(Object.keys(responses).find((status) => Number(status) < 400) ?? 200);

function urlOf({ path: template }: Operation, path: object, query: object): URL {
  const values = Object(path);
  const url = new URL(
    template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name]))),
    'http://x',
  );
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

function formOf({ fields = {}, content, fileName }: NonNullable<Step['form']>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  form.append('file', new Blob([Buffer.from(content, 'latin1')]), fileName);
  return form;
}

/** Reads a response; of a stream that stays open, the first event. */
async function contentOf(response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    const reader = response.body?.getReader();
    const first = await reader?.read();
    await reader?.cancel();
    return Buffer.from(first?.value ?? []).toString();
  }
  const text = await response.text();
  if (text === '') return undefined;
  return type.startsWith('application/json') ? JSON.parse(text) : text;
}
