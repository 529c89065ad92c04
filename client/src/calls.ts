import type { Client, ClientPathsWithMethod, MaybeOptionalInit, MethodResponse } from 'openapi-fetch';
import type { paths } from './schema.d.ts';

export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** The paths of the interface that know a method. */
export type Path<M extends Method> = ClientPathsWithMethod<Client<paths>, M>;

/** What a request takes: `params.path`, `params.query`, `body`, `headers`, `signal`, and `parseAs` for what is no JSON. */
export type Init<M extends Method, P extends Path<M>> = MaybeOptionalInit<paths[P], M>;

type Some<T> = [T] extends [never] ? undefined : T;

/** The body of a success; undefined where there is none (204). */
export type Answer<M extends Method, P extends Path<M>, I = unknown> = Some<MethodResponse<Client<paths>, M, P, I>>;

/** May be left out when nothing in it is required. */
export type Optional<I> = undefined extends I ? [init?: I] : [init: I];

/**
 * A request. Resolves with the body of the answer when it is a success, and rejects with a HeliographError otherwise.
 */
export type Call<M extends Method> = <P extends Path<M>, I extends Init<M, P>>(
  path: P,
  ...init: Optional<I>
) => Promise<Answer<M, P, I>>;
