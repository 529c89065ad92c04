import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

// Scalar's script is only available through its Fastify plugin, whose own page does not work under our policy.
const app = Fastify();
await app.register(scalar, { routePrefix: '/scalar', configuration: { url: '/openapi.json' } });
const { payload } = await app.inject('/scalar/js/scalar.js');
await app.close();
parentPort?.postMessage(payload);
