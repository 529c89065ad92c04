import type { Client, ClientPathsWithMethod, MaybeOptionalInit, MethodResponse } from 'openapi-fetch';
import type { paths } from './schema.d.ts';

export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** The paths of the API that support this method. */
export type Path<M extends Method> = ClientPathsWithMethod<Client<paths>, M>;

/**
 * The options of a request: `params.path`, `params.query`, `body`, `headers`, `signal`, and `parseAs` for responses
 * other than JSON.
 */
export type Init<M extends Method, P extends Path<M>> = MaybeOptionalInit<paths[P], M>;

type Some<T> = [T] extends [never] ? undefined : T;

/** The body of a successful response; undefined if there is none (204). */
export type Answer<M extends Method, P extends Path<M>, I = unknown> = Some<MethodResponse<Client<paths>, M, P, I>>;

/** An argument that may be omitted if nothing in it is required. */
export type Optional<I> = undefined extends I ? [init?: I] : [init: I];

/** Sends a request. Resolves with the body of a successful response, and rejects with a HeliographError otherwise. */
export type Call<M extends Method> = <P extends Path<M>, I extends Init<M, P>>(
  path: P,
  ...init: Optional<I>
) => Promise<Answer<M, P, I>>;
