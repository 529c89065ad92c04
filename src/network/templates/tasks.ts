import type { Log } from '../../platform/lib/log.ts';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import type { ChangeDeps } from './network.ts';
import { syncTemplates } from './sync.ts';

type TemplateTaskDeps = ChangeDeps & { readonly log: Log; readonly sandbox: () => boolean };

/** Syncs WhatsApp templates and numbers from their networks. */
export const templateTasks = (deps: TemplateTaskDeps): Task[] => [
  { name: 'templates', work: every(10 * MINUTE_MS, () => syncTemplates(deps)) },
];
