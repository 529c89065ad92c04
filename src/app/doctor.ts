import type { Command } from 'commander';
import { checkFromOutside } from '../operations/diagnosis/check-from-outside.ts';
import { examine } from '../operations/diagnosis/examine.ts';
import type { Finding } from '../operations/diagnosis/finding.ts';
import type { CommandContext } from '../platform/cli.ts';
import { createNodeServer } from '../platform/http/server.ts';
import { loadSecretKey } from '../platform/secret-key.ts';

/**
 * `doctor`: checks database, sending, clock, disk, files, TLS, secrets and carriers, and suggests fixes. The exit code
 * is 1 when a check fails.
 */
export function registerDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('check database, sending, clock, disk, files, TLS, secrets and carriers, and suggest fixes')
    .option('--from-outside', 'also call PUBLIC_URL by its public name, and check that this installation responds')
    .action(async ({ fromOutside }: { readonly fromOutside?: true }) => {
      const config = context.config();
      const makeServer = (): unknown => createNodeServer(config, () => undefined);
      const findings = [
        ...(await context.withDatabase((pool) => examine({ config, pool, makeServer }))),
        ...(fromOutside ? [await checkFromOutside(config, await loadSecretKey(config))] : []),
      ];
      const ok = findings.every((finding) => finding.ok);
      context.report(findings, (all) => all.map(showFinding).join('\n'), ok);
    });
}

/** Formats a finding as a line, with its advice. */
const showFinding = ({ name, ok, detail, advice }: Finding): string =>
  `${ok ? 'ok  ' : 'BAD '} ${name}: ${detail}${advice && !ok ? `\n     ${advice}` : ''}`;
