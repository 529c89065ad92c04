import { createAccount } from '../../../src/operate/account-commands.ts';
import type { Answer, RequestOptions } from '../client.ts';
import type { TestProgram } from '../program.ts';

/** The operators' API, as one of them uses it. */
export type OperatorApi = {
  readonly accountId: number;
  readonly username: string;
  /** Sends a request; `path` is relative to /api/operator/v1. */
  request(method: string, path: string, body?: object, headers?: RequestOptions['headers']): Promise<Answer>;
  /** Sends a request and returns the body of a 2xx response; throws on any other. */
  ask<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T>;
};

/** Creates an account whose owner is an operator; requests use their password. */
export async function openOperatorApi({ pool, clientOf }: TestProgram): Promise<OperatorApi> {
  const made = await createAccount(pool, { name: 'Gateway', plan: 'production', operator: true });
  const { accountId, username, password } = made;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const client = clientOf('');
  const request: OperatorApi['request'] = (method, path, body, headers) =>
    client.request(method, `/api/operator/v1${path}`, {
      ...(body && { body }),
      headers: { authorization, 'x-api-key': '', ...headers },
    });
  return {
    accountId,
    username,
    request,
    async ask<T>(method: string, path: string, body?: object) {
      const answer = await request(method, path, body);
      if (answer.status >= 300)
        throw new Error(`${method} ${path} returns ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body as T;
    },
  };
}
