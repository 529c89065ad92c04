import Fastify from 'fastify';
import { Type } from 'typebox';
import { createServer } from './http/server.ts';
import { authentication } from './http/auth.ts';
import { apiDeps } from './testing/api.ts';
import type { App } from './http/deps.ts';
const schema = { body: Type.Object({ phoneNumber: Type.String({minLength:1}), message: Type.String(), n: Type.Optional(Type.Integer()) }), response: { 200: Type.Object({ id: Type.String() }) } };
let app: any; let n = 0;
if (process.argv[2] === 'bare') { app = Fastify(); app.post('/x', { schema }, async () => (n++, { id: 'a' })); }
else { const d = apiDeps({ authenticate: async () => ({ accountId: 1 } as never) }); app = createServer(d); app.register(async (s: App) => { s.register(authentication, d); s.post('/x', { schema }, async () => (n++, { id: 'a' })); }); }
await app.listen({ port: Number(process.argv[3]), host: '127.0.0.1' });
let c = process.cpuUsage(), last = 0;
process.on('SIGUSR2', () => { const u = process.cpuUsage(c); console.log(process.argv[2], 'us/req', ((u.user + u.system) / (n - last)).toFixed(1), 'user', (u.user/(n-last)).toFixed(1), n - last); c = process.cpuUsage(); last = n; });
