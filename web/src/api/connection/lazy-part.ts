import { lazy } from 'react';
import { loadPart } from './load.ts';

/** Like `lazy`, for a part of a page: while the server cannot be reached it waits, and appears when the server is back. */
export const lazyPart: typeof lazy = (load) => lazy(() => loadPart(load));
