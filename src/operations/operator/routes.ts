import type { App } from '../../platform/http/app.ts';
import { operatorAccountRoutes } from './accounts/routes.ts';
import { type AlertRouteDeps, operatorAlertRoutes } from './alerts/routes.ts';
import { operatorAuditRoutes } from './audit/routes.ts';
import { operatorConnectionRoutes } from './connections/routes.ts';
import { operatorCostRoutes } from './costs/routes.ts';
import { operatorMarginRoutes } from './margins/routes.ts';
import { operatorLookupRoutes } from './lookups/routes.ts';
import { operatorOverviewRoutes } from './overview/routes.ts';
import { operatorPriceRoutes } from './prices/routes.ts';
import { operatorQueueRoutes } from './queues/routes.ts';
import { operatorHealthRoutes } from './reconciliation/routes.ts';
import { operatorRestoreGuardRoutes } from './restore-guard/routes.ts';
import { operatorRouteRoutes } from './routing/routes.ts';
import { operatorSenderRuleRoutes } from './sender-rules/routes.ts';
import { operatorSenderRoutes } from './senders/routes.ts';
import { operatorSmppRoutes } from './smpp/routes.ts';
import { operatorUnknownRoutes } from './unknowns/routes.ts';

/**
 * Registers the routes for the operators of the gateway, which do the same as the commands. Every route requires an
 * operator (403 for all others, including API keys), runs with the rights of the program, and records who changed what.
 */
export function operatorRoutes(app: App, deps: AlertRouteDeps): void {
  operatorOverviewRoutes(app, deps);
  operatorAlertRoutes(app, deps);
  operatorAccountRoutes(app, deps);
  operatorPriceRoutes(app, deps);
  operatorCostRoutes(app, deps);
  operatorMarginRoutes(app, deps);
  operatorConnectionRoutes(app, deps);
  operatorRouteRoutes(app, deps);
  operatorLookupRoutes(app, deps);
  operatorSenderRoutes(app, deps);
  operatorSenderRuleRoutes(app, deps);
  operatorQueueRoutes(app, deps);
  operatorSmppRoutes(app, deps);
  operatorUnknownRoutes(app, deps);
  operatorRestoreGuardRoutes(app, deps);
  operatorHealthRoutes(app, deps);
  operatorAuditRoutes(app, deps);
}
